"""How many snapshots and changelogs stay and for how long, and which of them may therefore go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from paimon_sql.errors import InvalidInputError, MissingFileError, NoSuchSnapshotError
from paimon_sql.format.options import Option, TableOptions
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_TIME_RETAINED,
)
from paimon_sql.format.options.operations.snapshot import (
    CONSUMER_CHANGELOG_ONLY,
    SNAPSHOT_EXPIRE_LIMIT,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
)
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Retention:
    """What stays.

    Attributes:
        most: how many snapshots stay at most, whatever their age.
        least: how many stay at least.
        older_than_millis: what is not older than this time stays, in milliseconds since the epoch.
        limit: how many may go in one run.
        consumers: whether snapshots wait for consumers.
    """

    most: int
    least: int
    older_than_millis: int
    limit: int
    consumers: bool = True


@dataclass(frozen=True)
class ExpirationRange:
    """The snapshots that may go: those before ``end``.

    Attributes:
        earliest: the first retained snapshot, None without any.
        latest: the last one.
        end: the first that stays.
        reason: what keeps it.
    """

    earliest: int | None
    latest: int | None
    end: int
    reason: str


def retention_of(
    options: TableOptions,
    now_millis: int,
    *,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_millis: int | None = None,
    max_deletes: int | None = None,
) -> Retention:
    """What a table's options say, where the arguments say nothing else.

    Raises:
        InvalidInputError: the maximum is less than the minimum, or a number is none that its option takes.
    """
    most = _number(options, SNAPSHOT_NUM_RETAINED_MAX, "retain_max", retain_max)
    least = _number(options, SNAPSHOT_NUM_RETAINED_MIN, "retain_min", retain_min)
    if most < least:
        said = "the argument" if retain_min is not None else f"the table's {SNAPSHOT_NUM_RETAINED_MIN.key}"
        raise InvalidInputError(
            f"No more than {most} snapshots should stay, but no less than {least}, as {said} says.",
            remedy=f"Give retain_min as well: retain_max => {most}, retain_min => {most}.",
        )
    if older_than_millis is None:
        older_than_millis = _ago(now_millis, options.get(SNAPSHOT_TIME_RETAINED))
    limit = _number(options, SNAPSHOT_EXPIRE_LIMIT, "max_deletes", max_deletes)
    # Where changelogs go with their snapshots, consumers lose them unless both wait.
    consumers = not (options.get(CONSUMER_CHANGELOG_ONLY) and outlives_snapshots(options))
    return Retention(most, least, older_than_millis, limit, consumers)


def outlives_snapshots(options: TableOptions) -> bool:
    """Whether changelogs stay when their snapshots go: where something longer is said of them."""
    most: int | None = options.get(CHANGELOG_NUM_RETAINED_MAX)
    least: int | None = options.get(CHANGELOG_NUM_RETAINED_MIN)
    kept: timedelta | None = options.get(CHANGELOG_TIME_RETAINED)
    return (
        (most is not None and most > options.get(SNAPSHOT_NUM_RETAINED_MAX))
        or (least is not None and least > options.get(SNAPSHOT_NUM_RETAINED_MIN))
        or (kept is not None and kept > options.get(SNAPSHOT_TIME_RETAINED))
    )


def changelog_retention_of(
    options: TableOptions,
    now_millis: int,
    *,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_millis: int | None = None,
    max_deletes: int | None = None,
) -> Retention:
    """How long changelogs stay that outlive their snapshots; what the options do not say of them is as of snapshots.

    Raises:
        InvalidInputError: the maximum is less than the minimum, or a number is none that its option takes.
    """
    most = _longer(options, CHANGELOG_NUM_RETAINED_MAX, SNAPSHOT_NUM_RETAINED_MAX, "retain_max", retain_max)
    least = _longer(options, CHANGELOG_NUM_RETAINED_MIN, SNAPSHOT_NUM_RETAINED_MIN, "retain_min", retain_min)
    if most < least:
        raise InvalidInputError(
            f"{CHANGELOG_NUM_RETAINED_MAX.key} is {most}, less than {CHANGELOG_NUM_RETAINED_MIN.key}: {least}.",
            remedy="Raise the one or lower the other; a call gives retain_max and retain_min.",
        )
    if older_than_millis is None:
        kept: timedelta | None = options.get(CHANGELOG_TIME_RETAINED)
        older_than_millis = _ago(now_millis, options.get(SNAPSHOT_TIME_RETAINED) if kept is None else kept)
    return Retention(
        most, least, older_than_millis, _number(options, SNAPSHOT_EXPIRE_LIMIT, "max_deletes", max_deletes)
    )


def choose_range(table: Table, retention: Retention) -> ExpirationRange:
    """The snapshots that may go.

    What is over the maximum goes whatever its age, the minimum stays; in between a snapshot goes only if the one after
    it is older than the limit. What comes cheap is asked first: mostly nothing is to be done.

    Raises:
        MissingFileError: the newest snapshot is lost, so that nobody knows what it needs.
    """
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    if earliest is None or latest is None:
        return ExpirationRange(None, None, 0, "the table has no snapshot")
    kept, taken = retention.least, retention.limit
    stay = "the last snapshot stays" if kept == 1 else f"the last {kept} snapshots stay"
    end, reason = latest - kept + 1, stay
    if earliest + taken < end:
        end, reason = earliest + taken, f"one run takes no more than {taken} snapshot{'s' if taken > 1 else ''}"
    if end <= earliest:
        return ExpirationRange(earliest, latest, earliest, reason)
    for snapshot_id in range(max(latest - retention.most + 1, earliest), end):
        if not _is_older(table, snapshot_id + 1, retention.older_than_millis):
            end, reason = snapshot_id, "the next snapshot is too young"
            break
    if end > earliest and retention.consumers:
        wanted = table.consumers.min_next_snapshot()
        if wanted is not None and wanted < end:
            end, reason = wanted, f"a consumer still wants snapshot {wanted}"
    if end > earliest:
        _check_newest(table)
    return ExpirationRange(earliest, latest, max(end, earliest), reason)


def _check_newest(table: Table) -> None:
    lost = table.snapshots.directory.lost_latest()
    if lost is not None:
        path = table.snapshots.directory.path(lost)
        raise MissingFileError(
            f"{table.name}: nothing was deleted, because {path} is missing, and nobody knows which files it needs.",
            path=path,
            remedy="Restore the file from a copy, or CALL sys.repair, which gives it up.",
        )


def _is_older(table: Table, snapshot_id: int, older_than_millis: int) -> bool:
    try:
        return table.snapshots.get(snapshot_id).time_millis < older_than_millis
    except NoSuchSnapshotError:
        return True  # removed by another process, or never there


def _number(options: TableOptions, option: Option[int], argument: str, given: int | None) -> int:
    return options.get(option) if given is None else option.read(str(given), argument)


def _longer(
    options: TableOptions, option: Option[int | None], otherwise: Option[int], argument: str, given: int | None
) -> int:
    said: int | None = options.get(option)
    if given is None and said is not None:
        return said
    return _number(options, otherwise, argument, given)


def _ago(now_millis: int, length: timedelta) -> int:
    return now_millis - length // MILLISECOND

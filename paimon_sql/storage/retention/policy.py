"""Retention of snapshots and changelogs by number and age, and the range that may expire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from paimon_sql.errors import InvalidInputError, MissingFileError
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
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Retention:
    """The retention of snapshots or changelogs.

    Attributes:
        max: max number to retain, whatever their age.
        min: min number to retain.
        older_than_millis: those not older than this time are retained, in milliseconds since the epoch.
        limit: max number to expire per run.
        consumers: whether consumers retain snapshots.
    """

    max: int
    min: int
    older_than_millis: int
    limit: int
    consumers: bool = True


@dataclass(frozen=True)
class ExpirationRange:
    """The snapshots that may expire: those before ``end``.

    Attributes:
        earliest: the first snapshot, None without any.
        latest: the last snapshot.
        end: the first retained snapshot.
        reason: what retains it.
    """

    earliest: int | None
    latest: int | None
    end: int
    reason: str


@dataclass(frozen=True)
class Limits:
    """The limits of a call, each None to take the table's option.

    Attributes:
        retain_max: the max number of snapshots to retain.
        retain_min: the min number of snapshots to retain.
        older_than_millis: the time before which snapshots expire, in milliseconds since the epoch.
        max_deletes: the max number of snapshots to expire.
    """

    retain_max: int | None = None
    retain_min: int | None = None
    older_than_millis: int | None = None
    max_deletes: int | None = None


UNLIMITED = Limits()


def retention_of(options: TableOptions, now_millis: int, limits: Limits = UNLIMITED) -> Retention:
    """Return the retention by the table's options, overridden by the limits of a call.

    Raises:
        InvalidInputError: the maximum is less than the minimum, or a number is invalid for its option.
    """
    most = _number(options, SNAPSHOT_NUM_RETAINED_MAX, "retain_max", limits.retain_max)
    least = _number(options, SNAPSHOT_NUM_RETAINED_MIN, "retain_min", limits.retain_min)
    if most < least:
        said = "the argument" if limits.retain_min is not None else f"the table's {SNAPSHOT_NUM_RETAINED_MIN.key}"
        raise InvalidInputError(
            f"At most {most} snapshots are to be retained, but at least {least} by {said}.",
            remedy=f"Specify retain_min as well: retain_max => {most}, retain_min => {most}.",
        )
    oldest = limits.older_than_millis
    if oldest is None:
        oldest = _ago(now_millis, options.get(SNAPSHOT_TIME_RETAINED))
    limit = _number(options, SNAPSHOT_EXPIRE_LIMIT, "max_deletes", limits.max_deletes)
    # If changelogs expire with their snapshots, both must wait for consumers.
    consumers = not (options.get(CONSUMER_CHANGELOG_ONLY) and outlives_snapshots(options))
    return Retention(most, least, oldest, limit, consumers)


def outlives_snapshots(options: TableOptions) -> bool:
    """Whether changelogs are retained longer than their snapshots by the options."""
    pairs: tuple[tuple[Option[Any], Option[Any]], ...] = (
        (CHANGELOG_NUM_RETAINED_MAX, SNAPSHOT_NUM_RETAINED_MAX),
        (CHANGELOG_NUM_RETAINED_MIN, SNAPSHOT_NUM_RETAINED_MIN),
        (CHANGELOG_TIME_RETAINED, SNAPSHOT_TIME_RETAINED),
    )
    return any(options.get(own) is not None and options.get(own) > options.get(other) for own, other in pairs)


def changelog_retention_of(options: TableOptions, now_millis: int, limits: Limits = UNLIMITED) -> Retention:
    """Return the retention of changelogs that outlive their snapshots; options default to those of snapshots.

    Raises:
        InvalidInputError: the maximum is less than the minimum, or a number is invalid for its option.
    """
    most = _longer(options, CHANGELOG_NUM_RETAINED_MAX, SNAPSHOT_NUM_RETAINED_MAX, "retain_max", limits.retain_max)
    least = _longer(options, CHANGELOG_NUM_RETAINED_MIN, SNAPSHOT_NUM_RETAINED_MIN, "retain_min", limits.retain_min)
    if most < least:
        raise InvalidInputError(
            f"{CHANGELOG_NUM_RETAINED_MAX.key} is {most}, less than {CHANGELOG_NUM_RETAINED_MIN.key}: {least}.",
            remedy="Raise the one or lower the other; a call gives retain_max and retain_min.",
        )
    oldest = limits.older_than_millis
    if oldest is None:
        own: timedelta | None = options.get(CHANGELOG_TIME_RETAINED)
        oldest = _ago(now_millis, options.get(SNAPSHOT_TIME_RETAINED) if own is None else own)
    limit = _number(options, SNAPSHOT_EXPIRE_LIMIT, "max_deletes", limits.max_deletes)
    return Retention(most, least, oldest, limit)


def choose_range(table: Table, retention: Retention, seen: SnapshotView) -> ExpirationRange:
    """Return the range of snapshots that may expire.

    Snapshots over the maximum expire whatever their age, the minimum is retained; in between a snapshot expires if the
    next one is old enough. Cheap conditions are checked first, as mostly nothing expires.

    Args:
        table: the table or branch.
        retention: the retention.
        seen: the snapshots that the caller reads.

    Raises:
        MissingFileError: the newest snapshot is lost, so that the files it needs are unknown.
    """
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    if earliest is None or latest is None:
        return ExpirationRange(None, None, 0, "the table has no snapshot")
    least, limit = retention.min, retention.limit
    end = latest - least + 1
    reason = "the last snapshot is retained" if least == 1 else f"the last {least} snapshots are retained"
    if earliest + limit < end:
        end, reason = earliest + limit, f"one run expires at most {limit} snapshot{'s' if limit > 1 else ''}"
    if end <= earliest:
        return ExpirationRange(earliest, latest, earliest, reason)
    for snapshot_id in range(max(latest - retention.max + 1, earliest), end):
        following = seen.find(snapshot_id + 1)  # None if it expired concurrently, or is missing
        if following is not None and following.time_millis >= retention.older_than_millis:
            end, reason = snapshot_id, "the next snapshot is too young"
            break
    if end > earliest and retention.consumers:
        end, reason = before_consumers(table, end, reason)
    if end > earliest:
        _check_newest(table)
    return ExpirationRange(earliest, latest, max(end, earliest), reason)


def before_consumers(table: Table, end: int, reason: str) -> tuple[int, str]:
    """Return the end of a range that may expire, and its reason, moved to before what a consumer still needs."""
    needed = table.consumers.min_next_snapshot()
    return (end, reason) if needed is None or needed >= end else (needed, f"a consumer still needs snapshot {needed}")


def _check_newest(table: Table) -> None:
    lost = table.snapshots.directory.lost_latest()
    if lost is not None:
        path = table.snapshots.directory.path(lost)
        raise MissingFileError(
            f"{table.name}: nothing was deleted, because {path} is missing, so the files that it needs are unknown.",
            path=path,
            remedy="Restore the file from a copy, or CALL sys.repair, which gives it up.",
        )


def _ago(now_millis: int, length: timedelta) -> int:
    return now_millis - length // MILLISECOND


def _number(options: TableOptions, option: Option[int], argument: str, given: int | None) -> int:
    return options.get(option) if given is None else option.read(str(given), argument)


def _longer(
    options: TableOptions, option: Option[int | None], fallback: Option[int], argument: str, given: int | None
) -> int:
    value: int | None = options.get(option)
    return _number(options, fallback, argument, given) if value is None or given is not None else value

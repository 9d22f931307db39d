"""Automatic creation of tags, for each past period, by the clock of commits or by watermarks.

Times are milliseconds since 1970-01-01 00:00 of a wall clock, without a zone. A tag is named by the start of its period
and created after its end: the tag ``2024-01-31`` of a daily period has the state of the table when that day ended.

A period is past when a snapshot is committed whose time, minus the delay, is after it. The names of existing tags
determine which periods have a tag, so that no other state is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations import snapshot as snapshot_options
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, replace_tag
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import zone_of

_EPOCH = datetime(1970, 1, 1)
_DASHES, _PLAIN, _COMPACT = "with_dashes", "without_dashes", "without_dashes_and_spaces"

_LENGTHS = {"daily": timedelta(days=1), "hourly": timedelta(hours=1), "two-hours": timedelta(hours=2)}
_NAMES: Mapping[str, Mapping[str, str]] = {
    "daily": {_DASHES: "{0}-{1}-{2}", _PLAIN: "{0}{1}{2}", _COMPACT: "{0}{1}{2}"},
    "hourly": {_DASHES: "{0}-{1}-{2} {3}", _PLAIN: "{0}{1}{2} {3}", _COMPACT: "{0}{1}{2}{3}"},
    "two-hours": dict.fromkeys((_DASHES, _PLAIN, _COMPACT), "{0}-{1}-{2} {3}"),
}
_BY_MINUTE = "{0}{1}{2}{3}{4}"
_DIGITS = (4, 2, 2, 2, 2)


@dataclass(frozen=True)
class TagPeriod:
    """A repeating period (Paimon: `TagPeriodHandler`).

    Attributes:
        length: its length in milliseconds.
        form: the format of names, with fields for year, month, day, hour and minute.
        daily: whether a name may continue after a space, as the names of shorter periods do.
    """

    length: int
    form: str
    daily: bool = False

    @classmethod
    def of(cls, options: TableOptions) -> TagPeriod:
        """Return the period of a table's options.

        Raises:
            InvalidOptionError: its length is zero, or not longer than the creation delay.
        """
        given: timedelta | None = options.get(snapshot_options.TAG_CREATION_PERIOD_DURATION)
        kind = options.get(snapshot_options.TAG_CREATION_PERIOD)
        length = _LENGTHS[kind] if given is None else given
        delay: timedelta = options.get(snapshot_options.TAG_CREATION_DELAY)
        if length // MILLISECOND < 1:
            key = snapshot_options.TAG_CREATION_PERIOD_DURATION.key
            raise InvalidOptionError(f"The option '{key}' must be positive.", key=key)
        if delay >= length:
            key = snapshot_options.TAG_CREATION_DELAY.key
            raise InvalidOptionError(
                f"The option '{key}' must be shorter than the period for which a tag is created.",
                key=key,
                remedy=f"Shorten it, or choose a longer '{snapshot_options.TAG_CREATION_PERIOD.key}'.",
            )
        form = _NAMES[kind][options.get(snapshot_options.TAG_PERIOD_FORMATTER)] if given is None else _BY_MINUTE
        return cls(length // MILLISECOND, form, daily=given is None and kind == "daily")

    def before(self, wall_millis: int) -> int:
        """Return the start of the last period that ended at or before a time."""
        return (wall_millis // self.length - 1) * self.length

    def name_of(self, wall_millis: int) -> str | None:
        """Return the name of the tag for the period that starts at a time; None outside of the years 1 to 9999."""
        try:
            at = _EPOCH + timedelta(milliseconds=wall_millis)
        except OverflowError:
            return None
        parts = (at.year, at.month, at.day, at.hour, at.minute)
        return self.form.format(*(f"{part:0{width}d}" for part, width in zip(parts, _DIGITS, strict=True)))

    def time_of(self, name: str) -> int | None:
        """Return the start of the period by a tag's name, None for other names."""
        text = name.split(" ")[0] if self.daily else name
        match = re.fullmatch(self.form.format(*(f"([0-9]{{{width}}})" for width in _DIGITS)), text)
        try:
            return (datetime(*map(int, match.groups())) - _EPOCH) // MILLISECOND if match else None  # type: ignore[arg-type]
        except ValueError:
            return None


_NO_WATERMARK = -(2**63)

Clock = Callable[[Snapshot], int | None]
"""The wall-clock time of a snapshot in milliseconds; None if it has none."""


@dataclass(frozen=True)
class DueTag:
    """A tag to create."""

    name: str
    snapshot: Snapshot


@dataclass(frozen=True)
class TagPlan:
    """Automatic tags to create and delete.

    Attributes:
        create: the tags to create, ordered by time.
        delete: the names of those that exceed the limit.
    """

    create: tuple[DueTag, ...] = ()
    delete: tuple[str, ...] = ()


def plan_automatic_tags(table: Table) -> TagPlan:
    """Plan the automatic tags of a table (Paimon: `TagAutoCreation`).

    Raises:
        InvalidOptionError: the options contradict each other.
        InvalidInputError: the time zone is unknown on this machine.
    """
    clock = _clock(table)
    if clock is None:
        return TagPlan()
    period = TagPeriod.of(table.options)
    names = set(table.tags.names())
    times = {name: at for name in names if (at := period.time_of(name)) is not None}
    due = [tag for tag in _due(table, clock, period, times) if tag.name not in names]
    return TagPlan(*_within_limit(table, due, sorted(times)))


def execute_plan(table: Table, plan: TagPlan) -> list[str]:
    """Create the tags of a plan and delete those that exceed the limit; return the names of the new ones."""
    for due in plan.create:
        create_tag(table, due.name, due.snapshot.id, ignore_if_exists=True)
    if plan.delete:
        delete_tags(table, plan.delete)
    return [due.name for due in plan.create]


def _clock(table: Table) -> Clock | None:
    mode = table.options.get(snapshot_options.TAG_AUTOMATIC_CREATION)
    if mode == "process-time":
        zone = _process_zone(table)
        return lambda snapshot: wall_millis(snapshot.time_millis, zone)
    if mode == "watermark":
        watermark_zone = zone_of(table.options.get(snapshot_options.SINK_WATERMARK_TIME_ZONE))

        def watermark(snapshot: Snapshot) -> int | None:
            at = snapshot.watermark
            return None if at is None or at == _NO_WATERMARK else wall_millis(at, watermark_zone)

        return watermark
    return None


def _process_zone(table: Table) -> tzinfo | None:
    name: str | None = table.options.get(snapshot_options.SINK_PROCESS_TIME_ZONE)
    return None if name is None else zone_of(name)


def wall_millis(epoch_millis: int, zone: tzinfo | None) -> int | None:
    """Return the wall clock of a zone at a time, in milliseconds since 1970-01-01 00:00 of that clock.

    Args:
        epoch_millis: the time, in milliseconds since the epoch.
        zone: the zone; None is this machine's.

    Returns:
        The wall clock; None outside of the years 1 to 9999.
    """
    seconds, millis = divmod(epoch_millis, 1000)
    try:
        wall = datetime.fromtimestamp(seconds, zone).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None
    return (wall - _EPOCH) // MILLISECOND + millis


def _due(table: Table, clock: Clock, period: TagPeriod, times: dict[str, int]) -> Iterator[DueTag]:
    """Yield the tags of past periods; snapshots up to that of the newest automatic tag are skipped."""
    delay = table.options.get(snapshot_options.TAG_CREATION_DELAY) // MILLISECOND
    completes = table.options.get(snapshot_options.TAG_AUTOMATIC_COMPLETION)
    following, first = None, 0
    if times:
        newest = max(times, key=lambda name: times[name])
        following, first = times[newest] + period.length, table.tags.get(newest).snapshot.id + 1

    def is_over(at: int | None) -> bool:
        return at is not None and (following is None or at - delay >= following + period.length)

    latest = table.snapshots.latest()
    if latest is None or not is_over(clock(latest)):
        return
    ids = (i for i in table.snapshots.retained_ids() if i >= first)
    # One that is not found expired concurrently.
    for snapshot in filter(None, map(SnapshotView(table.snapshots, [latest]).find, ids)):
        at = clock(snapshot)
        if at is None or not is_over(at):
            continue
        begin = following if completes and following is not None else period.before(at)
        name = period.name_of(begin)
        if name is None:
            continue
        yield DueTag(name, snapshot)
        following = begin + period.length


def _within_limit(table: Table, due: list[DueTag], names: list[str]) -> tuple[tuple[DueTag, ...], tuple[str, ...]]:
    """Return the new tags to create and the old ones to delete under the limit."""
    max_tags: int | None = table.options.get(snapshot_options.TAG_NUM_RETAINED_MAX)
    excess = 0 if max_tags is None else len(due) + len(names) - max_tags
    if excess <= 0:
        return tuple(due), ()
    ids = {name: tag.snapshot.id for name in names if (tag := table.tags.find(name)) is not None}
    ids.update((tag.name, tag.snapshot.id) for tag in due)
    surplus = set(sorted(ids, key=lambda name: (ids[name], name))[: len(ids) - (max_tags or 0)])
    return tuple(tag for tag in due if tag.name not in surplus), tuple(name for name in names if name in surplus)


_PREFIX = "batch-write-"
_NAME = re.compile(r"batch-write-\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY = TagPeriod(86_400_000, "{0}-{1}-{2}")


def tag_batch(table: Table) -> str | None:
    """Create or move the tag of batch writes to the newest snapshot, and delete the oldest such tags over the limit.

    The tag is named by day (``batch-write-2024-01-31``) or by an option. Tags with former names of that option count,
    too, but no others, as it is unknown what created them.

    Returns:
        The tag's name; None if the table has no such tags.
    """
    if (
        table.options.get(snapshot_options.TAG_AUTOMATIC_CREATION) != "batch"
        or (latest := table.snapshots.latest()) is None
    ):
        return None
    custom: str | None = table.options.get(snapshot_options.TAG_BATCH_CUSTOMIZED_NAME)
    wall = wall_millis(latest.time_millis, _process_zone(table))
    name = custom or f"{_PREFIX}{_DAY.name_of(wall or 0)}"
    if table.tags.exists(name):
        replace_tag(table, name)
    else:
        create_tag(table, name, ignore_if_exists=True)
    max_tags: int | None = table.options.get(snapshot_options.TAG_NUM_RETAINED_MAX)
    if max_tags:
        custom_names = {
            name,
            *(s.options.get(snapshot_options.TAG_BATCH_CUSTOMIZED_NAME.key) for s in table.schemas.all()),
        }
        batch_tags = [t for t in table.tags.all() if t.name in custom_names or _NAME.fullmatch(t.name)]
        batch_tags.sort(key=lambda t: (t.snapshot.id, t.name == name, t.name))
        delete_tags(table, [t.name for t in batch_tags[: max(0, len(batch_tags) - max_tags)]])
    return name

"""Ranges of changes between two snapshots, and of commits between two versions or times.

Set by the options ``incremental-between``, ``incremental-between-timestamp`` and ``incremental-to-auto-tag``; the start
is exclusive, the end inclusive (spec: Incremental Query).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.options.operations import scan
from paimon_sql.format.text.instants import parse_instant
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.table.changelog_producer import changelog_producer
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import not_retained, snapshot_at_time

_AUTOMATIC = re.compile(r"\d{4}-?\d{2}-?\d{2}(?: \d{2}(?:-?\d{2})?)?")
"""Names of automatic tags: the day, hour or minute that they close."""
_MILLIS = re.compile(r"-?\d+", re.ASCII)
DELTA, CHANGELOG, DIFF = "delta", "changelog", "diff"


@dataclass(frozen=True)
class ChangeRange:
    """The changes after one snapshot up to another.

    Attributes:
        mode: which changes: the rows that each commit wrote, its changelog, or the difference between both ends.
        start: the id of the snapshot after which the range begins; 0 for the beginning of the table.
        end: the last snapshot; None for an empty range.
        before: the state at the start, for differences; None is an empty table.
        overwrites: whether rows written by overwrites are included.
    """

    mode: str
    start: int
    end: Snapshot | None
    before: Snapshot | None = None
    overwrites: bool = False

    def commits(self, table: Table) -> Iterator[Snapshot]:
        """Yield the snapshots whose own files contain the changes, oldest first.

        Raises:
            NoSuchSnapshotError: one of them is not retained.
        """
        if self.end is None:
            return
        for snapshot_id in range(self.start + 1, self.end.id + 1):
            # The end of a difference may be a tag's, whose own changes are possibly not retained.
            is_read = snapshot_id == self.end.id and self.mode != DIFF
            snapshot = self.end if is_read else snapshot_with_changelog(table, snapshot_id, self.mode)
            if self._has_changes(snapshot.commit_kind):
                yield snapshot

    def _has_changes(self, kind: CommitKind) -> bool:
        if kind is CommitKind.OVERWRITE:
            return self.overwrites
        return self.mode != DELTA or kind is CommitKind.APPEND


def change_range_to_read(table: Table) -> ChangeRange | None:
    """Return the change range that the table's options set; None without one.

    Times without a zone are those of this machine's.

    Raises:
        InvalidOptionError: the option is invalid.
        NoSuchSnapshotError: an end is not retained.
    """
    options = table.options
    if between := options.get(scan.INCREMENTAL_BETWEEN):
        return _between(table, *_ends(between, scan.INCREMENTAL_BETWEEN.key))
    if times := options.get(scan.INCREMENTAL_BETWEEN_TIMESTAMP):
        return _between_times(table, *time_span(times))
    if tag := options.get(scan.INCREMENTAL_TO_AUTO_TAG):
        return _to_tag(table, tag)
    return None


def time_span(text: str, zone: tzinfo | None = None) -> tuple[int, int]:
    """Return the ends of a time range, in milliseconds since the epoch.

    Args:
        text: two comma-separated times, both as strings or both as milliseconds since the epoch.
        zone: the zone of time strings; None is this machine's.

    Raises:
        InvalidOptionError: there are not two times.
        InvalidInputError: a time is invalid.
    """
    start, end = _ends(text, scan.INCREMENTAL_BETWEEN_TIMESTAMP.key)
    if _MILLIS.fullmatch(start) and _MILLIS.fullmatch(end):
        return int(start), int(end)
    return parse_instant(start, zone), parse_instant(end, zone)


def _ends(text: str, key: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InvalidOptionError(f"{key} requires a start and an end, separated by a comma, not '{text}'.", key=key)
    return parts[0], parts[1]


def _mode(table: Table) -> str:
    mode = table.options.get(scan.INCREMENTAL_BETWEEN_SCAN_MODE).lower()
    return change_mode(table) if mode == "auto" else mode


def change_mode(table: Table) -> str:
    """How changes are read by default: from the changelog if the table's commits have one, else from new files."""
    return CHANGELOG if changelog_producer(table.options).produces else DELTA


def _between(table: Table, start: str, end: str) -> ChangeRange:
    tags = [table.tags.find(name) for name in (start, end)]
    if all(tags) and table.options.get(scan.INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT):
        start, end = (str(tag.snapshot.id) for tag in tags if tag)
    elif any(tags):
        pairs = zip(tags, (start, end), strict=True)
        first, last = (tag.snapshot if tag else _numbered(table, text) for tag, text in pairs)
        if last is None or (first and first.id > last.id):
            raise _reversed(start, end)
        until = last if first is None or first.id < last.id else None
        return ChangeRange(DIFF, first.id if first else 0, until, first)
    first_id, last_id = (_number(table, text) for text in (start, end))
    if first_id > last_id:
        raise _reversed(start, end)
    return _of_ids(table, first_id, last_id)


def _of_ids(table: Table, start: int, end: int) -> ChangeRange:
    mode = _mode(table)
    latest = table.snapshots.latest_id()
    earliest = earliest_with_changelog(table, mode)
    if latest is None or earliest is None or end > latest or start < earliest - 1:
        what = f"changes from snapshot {start} to {end} are not known"
        raise not_retained(table, what, f"{start},{end}")
    if start == end:
        return ChangeRange(mode, start, None)
    before = table.snapshots.get(start) if mode == DIFF and start >= FIRST_SNAPSHOT_ID else None
    return ChangeRange(mode, start, snapshot_with_changelog(table, end, mode), before)


def _between_times(table: Table, start: int, end: int) -> ChangeRange:
    """Return the changes between two times, in milliseconds since the epoch."""
    if start > end:
        raise _reversed(str(start), str(end))
    if (ids := table.snapshots.retained()) is None:
        return ChangeRange(_mode(table), 0, None)
    seen = SnapshotView(table.snapshots)
    first, first_millis = ids.start - 1, seen.get(ids.start).time_millis
    if start >= first_millis:
        first = snapshot_at_time(table, start, seen).id
    last = snapshot_at_time(table, end, seen).id if end >= first_millis else first
    return _of_ids(table, first, last) if last > first else ChangeRange(_mode(table), first, None)


def _to_tag(table: Table, name: str) -> ChangeRange:
    """Return the changes since the previous automatic tag."""
    tag = table.tags.find(name)
    earlier = [n for n in table.tags.names() if _AUTOMATIC.fullmatch(n) and len(n) == len(name) and n < name]
    if tag is None or not _AUTOMATIC.fullmatch(name) or not earlier:
        return ChangeRange(DIFF, 0, None)
    before = table.tags.get(max(earlier)).snapshot
    return ChangeRange(DIFF, before.id, tag.snapshot if before.id < tag.snapshot.id else None, before)


def earliest_with_changelog(table: Table, mode: str) -> int | None:
    """Return the first snapshot whose changes are retained; None without snapshots."""
    earliest_ids = [table.snapshots.earliest_id(), *(table.changelogs.ids()[:1] if mode == CHANGELOG else ())]
    return min((i for i in earliest_ids if i is not None), default=None)


def snapshot_with_changelog(table: Table, snapshot_id: int, mode: str) -> Snapshot:
    """Return a snapshot, or its long-lived changelog.

    Raises:
        NoSuchSnapshotError: it is not retained.
    """
    if (snapshot := table.snapshots.find(snapshot_id)) is not None:
        return snapshot
    changelog = table.changelogs.find(snapshot_id) if mode == CHANGELOG else None
    if changelog is not None:
        return changelog
    raise not_retained(table, f"the changes of snapshot {snapshot_id} are not known any more", snapshot_id)


def _numbered(table: Table, text: str) -> Snapshot | None:
    number = _number(table, text)
    return table.snapshots.get(number) if number else None


def _number(table: Table, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise table.tags.missing(text)
    return int(text)


def _reversed(start: str, end: str) -> InvalidOptionError:
    message = f"The range from {start} to {end} ends before it begins."
    return InvalidOptionError(message, key=scan.INCREMENTAL_BETWEEN.key)


_MICROS_OF_A_MILLI = 1000


@dataclass(frozen=True)
class Bound:
    """One end of a range.

    Attributes:
        at: a snapshot id or a tag as a string, or a time in microseconds since the epoch.
        inclusive: whether the commit of the version or time belongs to the range.
    """

    at: str | int
    inclusive: bool = True


def has_changelog(table: Table) -> bool:
    """Whether commits of the table produce a changelog."""
    return table.schema.has_key and changelog_producer(table.options).produces


def commits_between(table: Table, start: Bound | None, end: Bound | None) -> range:
    """Return the snapshot ids of a commit range.

    Args:
        table: the table.
        start: the start; None for the first commit whose changes are retained.
        end: the end; None for the latest commit.

    Raises:
        InvalidInputError: it ends before it begins.
        NoSuchSnapshotError: a version is not retained, or the table has none.
    """
    mode = CHANGELOG if has_changelog(table) else DELTA
    earliest, latest = earliest_with_changelog(table, mode), table.snapshots.latest_id()
    retained = range(earliest, latest + 1) if earliest is not None and latest is not None else range(1, 1)
    readable = retained
    if mode == DELTA and table.schema.has_key and retained.start > FIRST_SNAPSHOT_ID:
        readable = retained[1:]  # the changes of the first one need the state before it
    first = readable.start if start is None else _first(table, start, retained, readable, mode)
    last = retained.stop - 1 if end is None else _last(table, end, retained, mode)
    if start is not None and end is not None and _is_reversed(start, end, first, last):
        raise InvalidInputError(f"{table.name}: the changes from {start.at} to {end.at} end before they begin.")
    return range(first, last + 1)


def _is_reversed(start: Bound, end: Bound, first: int, last: int) -> bool:
    if isinstance(start.at, int) and isinstance(end.at, int):
        return start.at > end.at
    return first - (not start.inclusive) > last + (not end.inclusive)


def _first(table: Table, bound: Bound, retained: range, readable: range, mode: str) -> int:
    if isinstance(bound.at, str):
        return _number_of_version(table, bound.at, retained) + (not bound.inclusive)
    return max(_newest(table, bound.at - bound.inclusive, retained, mode) + 1, readable.start)


def _last(table: Table, bound: Bound, retained: range, mode: str) -> int:
    if isinstance(bound.at, str):
        return _number_of_version(table, bound.at, retained) - (not bound.inclusive)
    return _newest(table, bound.at - (not bound.inclusive), retained, mode)


def _number_of_version(table: Table, text: str, retained: range) -> int:
    number = int(text) if text.isascii() and text.isdigit() else table.tags.get(text).snapshot.id
    if number not in retained:
        raise not_retained(table, f"the changes of snapshot {text} are not known", text)
    return number


def _newest(table: Table, micros: int, retained: range, mode: str) -> int:
    """Return the latest commit at or before a time; the id before all retained ones if all are later."""
    millis = micros // _MICROS_OF_A_MILLI
    count = bisect_right(retained, millis, key=lambda number: snapshot_with_changelog(table, number, mode).time_millis)
    return retained.start + count - 1

"""Commit ranges: commits between two versions or times, for queries of changes."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import (
    CHANGELOG,
    DELTA,
    earliest_with_changelog,
    snapshot_with_changelog,
)
from paimon_sql.storage.table.time_travel.resolve import retained_range

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


def tells_changelog(table: Table) -> bool:
    """Whether commits of the table produce a changelog."""
    return bool(table.schema.primary_keys) and table.options.get(CHANGELOG_PRODUCER) != "none"


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
    mode = CHANGELOG if tells_changelog(table) else DELTA
    earliest, latest = earliest_with_changelog(table, mode), table.snapshots.latest_id()
    retained = range(earliest, latest + 1) if earliest is not None and latest is not None else range(1, 1)
    readable = retained
    if mode == DELTA and table.schema.primary_keys and retained.start > FIRST_SNAPSHOT_ID:
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
        return _number(table, bound.at, retained) + (not bound.inclusive)
    return max(_newest(table, bound.at - bound.inclusive, retained, mode) + 1, readable.start)


def _last(table: Table, bound: Bound, retained: range, mode: str) -> int:
    if isinstance(bound.at, str):
        return _number(table, bound.at, retained) - (not bound.inclusive)
    return _newest(table, bound.at - (not bound.inclusive), retained, mode)


def _number(table: Table, text: str, retained: range) -> int:
    if text.isascii() and text.isdigit():
        number = int(text)
    else:
        number = table.tags.get(text).snapshot.id
    if number not in retained:
        raise NoSuchSnapshotError(
            f"{table.name}: the changes of snapshot {text} are not known: {retained_range(table)}.", name=text
        )
    return number


def _newest(table: Table, micros: int, retained: range, mode: str) -> int:
    """Return the latest commit at or before a time; the id before all retained ones if all are later."""
    millis = micros // _MICROS_OF_A_MILLI
    count = bisect_right(retained, millis, key=lambda number: snapshot_with_changelog(table, number, mode).time_millis)
    return retained.start + count - 1

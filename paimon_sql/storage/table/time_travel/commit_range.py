"""A range of commits by their versions or times, as queries of changes name it."""

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
        at: a snapshot's number or a tag as text, or a time in microseconds since the epoch.
        inclusive: whether the commit of that version or time belongs to the range.
    """

    at: str | int
    inclusive: bool = True


def tells_changelog(table: Table) -> bool:
    """Whether commits have a changelog of their own."""
    return bool(table.schema.primary_keys) and table.options.get(CHANGELOG_PRODUCER) != "none"


def commits_between(table: Table, start: Bound | None, end: Bound | None) -> range:
    """The numbers of the commits of a range.

    Args:
        table: the table.
        start: where it begins; None for the first commit whose changes are known.
        end: where it ends; None for the newest commit.

    Raises:
        InvalidInputError: it ends before it begins.
        NoSuchSnapshotError: a version is not retained, or there is none yet.
    """
    mode = CHANGELOG if tells_changelog(table) else DELTA
    earliest, latest = earliest_with_changelog(table, mode), table.snapshots.latest_id()
    known = range(earliest, latest + 1) if earliest is not None and latest is not None else range(1, 1)
    whole = known
    if mode == DELTA and table.schema.primary_keys and known.start > FIRST_SNAPSHOT_ID:
        whole = known[1:]  # what the first one changed only the state before it would tell
    first = whole.start if start is None else _first(table, start, known, whole, mode)
    last = known.stop - 1 if end is None else _last(table, end, known, mode)
    if start is not None and end is not None and _is_reversed(start, end, first, last):
        raise InvalidInputError(f"{table.name}: the changes from {start.at} to {end.at} end before they begin.")
    return range(first, last + 1)


def _is_reversed(start: Bound, end: Bound, first: int, last: int) -> bool:
    if isinstance(start.at, int) and isinstance(end.at, int):
        return start.at > end.at
    return first - (not start.inclusive) > last + (not end.inclusive)


def _first(table: Table, bound: Bound, known: range, whole: range, mode: str) -> int:
    if isinstance(bound.at, str):
        return _number(table, bound.at, known) + (not bound.inclusive)
    return max(_newest(table, bound.at - bound.inclusive, known, mode) + 1, whole.start)


def _last(table: Table, bound: Bound, known: range, mode: str) -> int:
    if isinstance(bound.at, str):
        return _number(table, bound.at, known) - (not bound.inclusive)
    return _newest(table, bound.at - (not bound.inclusive), known, mode)


def _number(table: Table, text: str, known: range) -> int:
    if text.isascii() and text.isdigit():
        number = int(text)
    else:
        number = table.tags.get(text).snapshot.id
    if number not in known:
        raise NoSuchSnapshotError(
            f"{table.name}: the changes of snapshot {text} are not known: {retained_range(table)}.", name=text
        )
    return number


def _newest(table: Table, micros: int, known: range, mode: str) -> int:
    """The newest commit that is not younger than a time; the one before all known ones if all are."""
    millis = micros // _MICROS_OF_A_MILLI
    count = bisect_right(known, millis, key=lambda number: snapshot_with_changelog(table, number, mode).time_millis)
    return known.start + count - 1

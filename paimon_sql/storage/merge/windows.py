"""Sorted runs brought together in windows: each window holds all rows of the keys in it, and memory stays bounded.

Of every run as many bytes are held as its share of all rows allows, so that what is held of all runs ends at about the
same key. What lies behind the smallest of those ends waits for the next window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.expressions.kernels.segments import Mask, Segments
from paimon_sql.storage.expressions.kernels.sorting import Indices, SortColumn, comparable, group_starts, sort_order

BATCH_ROWS = 65_536
"""The most rows that a run is asked for at a time."""
_STEPS = 4
_LEAST_SHARE = 8


@dataclass(frozen=True)
class Run:
    """A sorted run: its rows come in ascending order of the key.

    ``open`` starts reading it in batches of at most the given number of rows; ``rows`` is its length and ``size`` what
    it takes in memory, both guesses. ``name`` is for messages.
    """

    rows: int
    size: int
    open: Callable[[int], Iterator[pa.RecordBatch]]
    name: str = "a sorted run"


@dataclass(frozen=True)
class Window:
    """All rows of some keys.

    Attributes:
        table: the rows, the runs one behind the other.
        order: the row numbers sorted by key, rows of one key from the oldest to the newest.
        starts: the positions in ``order`` at which a key begins.
    """

    table: pa.Table
    order: Indices
    starts: Indices

    @cached_property
    def segments(self) -> Segments:
        """The rows in order by their keys."""
        return Segments.of_starts(self.starts, len(self.order))

    @cached_property
    def kinds(self) -> npt.NDArray[np.int8]:
        """The kinds of the rows in order."""
        kinds: npt.NDArray[np.int8] = self.table[VALUE_KIND.name].to_numpy()[self.order]
        return kinds

    def where(self, mask: Mask) -> Window:
        """Some of the rows in order; keys without any are left out."""
        return Window(self.table, self.order[mask], self.segments.where(mask).starts)

    @property
    def newest(self) -> Indices:
        """The row number of each key's newest row."""
        last: Indices = self.order[np.append(self.starts[1:], len(self.order))[: len(self.starts)] - 1]
        return last

    @property
    def oldest(self) -> Indices:
        """The row number of each key's oldest row."""
        first: Indices = self.order[self.starts]
        return first


@dataclass(frozen=True)
class RowOrder:
    """By what rows are sorted: the key columns, and behind them what tells older from newer rows of a key.

    Where ``ties`` is empty the runs must be given from the oldest to the newest.
    """

    keys: tuple[str, ...]
    ties: tuple[tuple[str, bool], ...] = ()

    def sort(self, table: pa.Table) -> tuple[Indices, Indices]:
        """The sorted order of the rows, and where keys begin in it."""
        keys = [comparable(table[name]) for name in self.keys]
        ties = [SortColumn(comparable(table[name]), descending) for name, descending in self.ties]
        order = sort_order([*(SortColumn(k) for k in keys), *ties])
        return order, group_starts(keys, order)

    def key(self, table: pa.Table, row: int) -> tuple[Any, ...]:
        """The key of one row, as values that compare like keys."""
        return tuple(comparable(table[name].slice(row, 1))[0].as_py() for name in self.keys)


def windows(runs: Sequence[Run], by: RowOrder, window_bytes: int) -> Iterator[Window]:
    """The runs' rows in windows of ascending keys.

    Args:
        runs: the sorted runs, from the oldest to the newest.
        by: the order of the rows.
        window_bytes: about how much is held in memory at a time; all rows of one key are, however big they are.

    Raises:
        PaimonError: the rows of a run are not sorted by key.
    """
    total = max(1, sum(run.rows for run in runs))
    least = window_bytes // (_LEAST_SHARE * max(1, len(runs)))
    feeds = [_Feed(run, max(least, window_bytes * run.rows // total)) for run in runs]
    before: tuple[Any, ...] | None = None
    while True:
        for feed in feeds:
            feed.fill()
        held = [feed for feed in feeds if feed.rows]
        if not held:
            return
        table = pa.concat_tables([feed.table for feed in held])
        order, starts = by.sort(table)
        ends = np.cumsum([feed.rows for feed in held])
        whole = _whole_keys(held, order, starts, ends)
        if not whole:
            continue
        cut = int(starts[whole]) if whole < len(starts) else len(order)
        _take(held, order[:cut], ends)
        first, last = (by.key(table, int(order[place])) for place in (0, cut - 1))
        if before is not None and None not in (*first, *before) and first <= before:
            raise _unsorted(", ".join(feed.run.name for feed in held))
        before = last
        yield Window(table, order[:cut], starts[:whole])


class _Feed:
    """What is held of a run: up to its share and a batch more."""

    def __init__(self, run: Run, share: int) -> None:
        self.run = run
        self.table: pa.Table = None
        self.rows = 0
        self.is_open = True
        self._share = max(1, share)
        self._bytes = 0
        rows_of_step = self._share * max(1, run.rows) // (_STEPS * max(1, run.size))
        self._batches = run.open(min(BATCH_ROWS, max(1, rows_of_step)))

    def fill(self) -> None:
        """Read until the share is held, or the run ends."""
        found: list[pa.RecordBatch] = []
        while self.is_open and self._bytes < self._share:
            self._next(found)
        self._add(found)

    def more(self) -> None:
        """Read one more batch."""
        found: list[pa.RecordBatch] = []
        while self.is_open and not found:
            self._next(found)
        self._add(found)

    def drop(self, count: int) -> None:
        """Let go of the first rows."""
        self.table = self.table.slice(count)
        self.rows -= count
        self._bytes = self.table.nbytes

    def _next(self, found: list[pa.RecordBatch]) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self.is_open = False
        elif batch.num_rows:
            found.append(batch)
            self._bytes += batch.nbytes

    def _add(self, found: list[pa.RecordBatch]) -> None:
        if found:
            added = pa.Table.from_batches(found)
            self.table = pa.concat_tables([self.table, added]) if self.rows else added
            self.rows += added.num_rows


def _whole_keys(held: Sequence[_Feed], order: Indices, starts: Indices, ends: npt.NDArray[np.int64]) -> int:
    """How many keys have all their rows here: those before the last key of every run that goes on.

    If there is none, more is read of the runs that end with the first key.
    """
    going_on = [(feed, end - 1) for feed, end in zip(held, ends, strict=True) if feed.is_open]
    if not going_on:
        return len(starts)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    keys = np.searchsorted(starts, places[[row for _, row in going_on]], side="right") - 1
    if not keys.min():
        for (feed, _), key in zip(going_on, keys, strict=True):
            if not key:
                feed.more()
    return int(keys.min())


def _take(held: Sequence[_Feed], rows: Indices, ends: npt.NDArray[np.int64]) -> None:
    """Take rows out of what is held; they must be the first rows of each run."""
    owners = np.searchsorted(ends, rows, side="right")
    counts = np.bincount(owners, minlength=len(held))
    ahead = rows >= (ends - [feed.rows for feed in held] + counts)[owners]
    if ahead.any():
        raise _unsorted(held[int(owners[ahead][0])].run.name)
    for feed, count in zip(held, counts, strict=True):
        feed.drop(int(count))


def _unsorted(name: str) -> PaimonError:
    return PaimonError(
        f"The rows of {name} are not in the order of their key.",
        remedy="Another writer sorts keys in another way: rewrite the table with it, then read it here.",
    )

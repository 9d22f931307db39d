"""Sorted runs brought together in windows: each window holds all rows of the keys in it, and memory stays bounded.

Every run is read in batches whose sizes are in proportion to the runs' lengths, so that the batches of all runs end at
about the same key. What lies behind the smallest of those ends waits for the next window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.storage.merge.order import Indices, SortColumn, comparable, group_starts, sort_order

WINDOW_ROWS = 2_000_000


@dataclass(frozen=True)
class Run:
    """A sorted run: no key occurs twice in it.

    ``open`` starts reading it in batches of about the given number of rows; ``rows`` is its length, or a guess.
    """

    rows: int
    open: Callable[[int], Iterator[pa.RecordBatch]]


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

    @property
    def newest(self) -> Indices:
        """The row number of each key's newest row."""
        last: Indices = self.order[np.append(self.starts[1:], len(self.order)) - 1]
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


def windows(runs: Sequence[Run], by: RowOrder, window_rows: int = WINDOW_ROWS) -> Iterator[Window]:
    """The runs' rows in windows of ascending keys.

    Args:
        runs: the sorted runs, from the oldest to the newest.
        by: the order of the rows.
        window_rows: about how many rows are held at a time.
    """
    total = max(1, sum(run.rows for run in runs))
    readers = [run.open(max(1024, window_rows * run.rows // total)) for run in runs]
    pending: list[pa.Table | None] = [None] * len(readers)
    open_ = [True] * len(readers)
    while True:
        for i, reader in enumerate(readers):
            while open_[i] and not _rows(pending[i]):
                batch = next(reader, None)
                open_[i] = batch is not None
                pending[i] = None if batch is None else pa.Table.from_batches([batch])
        held = [(i, p) for i, p in enumerate(pending) if p is not None and _rows(p)]
        if not held:
            return
        table = pa.concat_tables([p for _, p in held])
        order, starts = by.sort(table)
        sizes = np.array([len(p) for _, p in held])
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        last_rows = [offsets[n + 1] - 1 for n, (i, _) in enumerate(held) if open_[i]]
        if not last_rows:
            yield Window(table, order, starts)
            return
        positions = np.empty(len(order), dtype=np.int64)
        positions[order] = np.arange(len(order))
        bound = positions[np.array(last_rows)].min()
        after = np.searchsorted(starts, bound, side="right")
        cut = int(starts[after]) if after < len(starts) else len(order)
        yield Window(table, order[:cut], starts[:after])
        taken = np.bincount(np.searchsorted(offsets, order[:cut], side="right") - 1, minlength=len(held))
        for n, (i, p) in enumerate(held):
            pending[i] = p.slice(int(taken[n]))


def _rows(table: pa.Table | None) -> int:
    return 0 if table is None else len(table)

"""External sort: rows sorted in bounded memory, with sorted runs on local disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.write import SPILL_COMPRESSION
from paimon_sql.storage.merge.windows import BATCH_ROWS, RowOrder, Run, Window, spill, spill_folder, windows

_BATCH_BYTES = 1024 * 1024
_BATCHES_PER_PIECE = 16
"""The batches of a piece that is spilled, so that a run's batches are small: many runs are merged at a time."""
_OPTIONS = TableOptions({SPILL_COMPRESSION.key: "lz4"})


def sorted_rows(
    batches: Iterable[pa.RecordBatch], keys: Callable[[pa.Table], list[pa.Array]], memory: int
) -> Iterator[pa.RecordBatch]:
    """Sort rows by their keys; the sort is stable.

    Args:
        batches: the rows, all with the same columns.
        keys: computes the sort keys of rows, always the same number.
        memory: the approximate max bytes in memory.
    """
    sort, runs = _Sort(keys), list[Run]()
    buffer: list[pa.RecordBatch] = []
    size = 0
    with spill_folder() as directory:

        def spilled() -> Run:
            path = Path(directory, f"{len(runs)}.arrow")
            return spill(_pieces(sort.window(buffer), _BATCHES_PER_PIECE), path, _OPTIONS, "rows on disk")

        for batch in batches:
            buffer.append(batch)
            size += batch.nbytes
            if size > memory // 2:
                runs.append(spilled())
                buffer, size = [], 0
        if runs and any(b.num_rows for b in buffer):
            runs.append(spilled())
        in_memory = [sort.window(buffer)] if buffer and not runs else []
        for window in windows(runs, RowOrder(tuple(sort.names)), memory // 2) if runs else in_memory:
            rows = window.table.drop_columns(sort.names)
            for piece in _pieces(window, 1):
                yield from rows.take(pa.array(piece.order)).combine_chunks().to_batches()


class _Sort:
    """Sorts rows by their keys and by their index among all rows, which it adds to their columns as ``names``."""

    def __init__(self, keys: Callable[[pa.Table], list[pa.Array]]) -> None:
        self.names: list[str] = []
        self._keys = keys
        self._rows = 0

    def window(self, batches: list[pa.RecordBatch]) -> Window:
        """The next rows, in order."""
        table = pa.Table.from_batches(batches).combine_chunks()
        keys = [*self._keys(table), pa.array(np.arange(self._rows, self._rows + len(table)))]
        self._rows += len(table)
        # Longer than the name of any column.
        longest = max(len(name) for name in table.column_names)
        self.names = [f"{'_' * longest}{i}" for i in range(len(keys))]
        for name, key in zip(self.names, keys, strict=True):
            table = table.append_column(name, key)
        return Window(table, *RowOrder(tuple(self.names)).sort(table))


def _pieces(window: Window, batches: int) -> Iterator[Window]:
    """The rows of a window in pieces of some batches."""
    rows = max(1, min(BATCH_ROWS, len(window.table) * _BATCH_BYTES // max(1, window.table.nbytes))) * batches
    for first in range(0, len(window.order), rows):
        yield Window(window.table, window.order[first : first + rows], window.starts[:0])

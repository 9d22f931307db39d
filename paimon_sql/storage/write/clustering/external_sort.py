"""External sort: rows sorted in bounded memory, with sorted runs on local disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_sql.storage.merge.windows import BATCH_ROWS, RowOrder, Run, windows

_SPILLED_BATCH = 1024 * 1024


def sorted_rows(
    batches: Iterable[pa.RecordBatch], keys: Callable[[pa.Table], list[pa.Array]], memory: int
) -> Iterator[pa.RecordBatch]:
    """Sort rows by their keys; the sort is stable.

    Args:
        batches: the rows, all with the same columns.
        keys: computes the sort keys of rows, always the same number.
        memory: the approximate max bytes in memory.
    """
    with tempfile.TemporaryDirectory(prefix="paimon-sort-") as directory:
        spill = _Spill(Path(directory), keys)
        buffer: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            buffer.append(batch)
            size += batch.nbytes
            if size > memory // 2:
                spill.add(buffer)
                buffer, size = [], 0
        if not spill.runs:
            yield from spill.sort(buffer)
            return
        spill.add(buffer)
        yield from spill.merge(memory // 2)


class _Spill:
    """Sorted runs on disk; their rows carry their keys and their index among all rows."""

    def __init__(self, directory: Path, keys: Callable[[pa.Table], list[pa.Array]]) -> None:
        self.runs: list[Run] = []
        self._directory = directory
        self._keys = keys
        self._rows = 0
        self._names: list[str] = []

    def sort(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sort rows that fit into memory."""
        for sorted_batch in self._sorted(batches):
            yield sorted_batch.select(range(sorted_batch.num_columns - len(self._names)))

    def add(self, batches: list[pa.RecordBatch]) -> None:
        """Sort rows and write them to disk as one run."""
        if not sum(b.num_rows for b in batches):
            return
        path = str(self._directory / str(len(self.runs)))
        rows = size = 0
        writer: pa.RecordBatchWriter | None = None
        with pa.OSFile(path, "wb") as sink:
            for batch in self._sorted(batches):
                if writer is None:
                    writer = pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
                rows, size = rows + batch.num_rows, size + batch.nbytes
                writer.write_batch(batch)
            if writer is not None:
                writer.close()
        self.runs.append(Run(rows, size, lambda batch_rows: _read(path, batch_rows), "rows on disk"))

    def merge(self, memory: int) -> Iterator[pa.RecordBatch]:
        """The rows of all runs, sorted."""
        for window in windows(self.runs, RowOrder(tuple(self._names)), memory):
            rows = window.table.select(range(window.table.num_columns - len(self._names)))
            for first in range(0, len(window.order), BATCH_ROWS):
                yield from _batches(rows.take(window.order[first : first + BATCH_ROWS]))

    def _sorted(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not batches:
            return
        table = pa.Table.from_batches(batches).combine_chunks()
        numbers = np.arange(self._rows, self._rows + len(table))
        self._rows += len(table)
        keys = [*self._keys(table), pa.array(numbers)]
        # Longer than the name of any column.
        longest = max(len(name) for name in table.column_names)
        self._names = [f"{'_' * longest}{i}" for i in range(len(keys))]
        for name, key in zip(self._names, keys, strict=True):
            table = table.append_column(name, key)
        order, _ = RowOrder(tuple(self._names)).sort(table)
        step = max(1, min(BATCH_ROWS, len(table) * _SPILLED_BATCH // max(1, table.nbytes)))
        for first in range(0, len(order), step):
            yield from _batches(table.take(order[first : first + step]))


def _batches(rows: pa.Table) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = rows.combine_chunks().to_batches()
    return batches


def _read(path: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(path, "rb") as source:
        for batch in pa.ipc.open_stream(source):
            for first in range(0, batch.num_rows, batch_rows):
                yield batch.slice(first, batch_rows)

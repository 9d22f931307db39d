"""Sorted runs on the local disk: rows that memory has no room for, and many runs made few.

What an open file takes does not shrink with its share of a window, so memory would grow with the number of runs.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    NUM_SORTED_RUNS_COMPACTION_TRIGGER,
    NUM_SORTED_RUNS_STOP_TRIGGER,
)
from paimon_sql.format.options.operations.write import (
    SORT_SPILL_BUFFER_SIZE,
    SORT_SPILL_THRESHOLD,
    SPILL_COMPRESSION,
    SPILL_COMPRESSION_ZSTD_LEVEL,
)
from paimon_sql.storage.merge.windows import RowOrder, Run, Window, windows

_BEYOND_TRIGGER = 4
_LEAST_RUNS = 32
_BATCHES = 16
"""Into how many batches a window is cut when it is spilled: only one of them is held of each run when it is read."""


def merged_windows(runs: Sequence[Run], by: RowOrder, options: TableOptions) -> Iterator[Window]:
    """The windows of sorted runs, within the memory that a table's options allow.

    ``sort-spill-buffer-size`` bounds a window, ``sort-spill-threshold`` how many runs are open at a time. Runs beyond
    that are brought together on the disk, unless all are so small that a window takes them.
    """
    window_bytes = options.get(SORT_SPILL_BUFFER_SIZE)
    most = _most_runs(options)
    if len(runs) <= most or sum(run.size for run in runs) <= window_bytes:
        yield from windows(runs, by, window_bytes)
        return
    with spill_folder() as folder:
        left = list(runs)
        while len(left) > most:
            count = min(most, len(left) - most + 1)
            # Neighbours only: where nothing else tells older from newer rows, the order of the runs does.
            first = min(range(len(left) - count + 1), key=lambda i: sum(run.size for run in left[i : i + count]))
            several = left[first : first + count]
            name = f"{count} runs from {several[0].name} on"
            merged = windows(several, by, window_bytes)
            left[first : first + count] = [spilled(merged, Path(folder, f"{len(left)}.arrow"), options, name)]
        yield from windows(left, by, window_bytes)


def spill_folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder on a disk that is meant for such things: Spark's, in a worker of Spark's."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return tempfile.TemporaryDirectory(prefix="paimon-spill-", dir=local if Path(local).is_dir() and local else None)


def spilled(given: Iterable[Window], path: Path, options: TableOptions, name: str) -> Run:
    """All rows of some windows as one run in a file: by key, those of a key from the oldest to the newest."""
    writer: pa.RecordBatchStreamWriter | None = None
    count = size = 0
    with pa.OSFile(str(path), "wb") as sink:
        for window in given:
            rows = max(1, -(-len(window.order) // _BATCHES))
            for at in range(0, len(window.order), rows):
                piece = window.table.take(pa.array(window.order[at : at + rows])).combine_chunks()
                if writer is None:
                    writer = pa.ipc.new_stream(sink, piece.schema, options=_compressed(options))
                writer.write_table(piece)
                count += piece.num_rows
                size += piece.nbytes
        if writer is not None:
            writer.close()

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        if writer is None:
            return
        with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as stream:
            for batch in stream:
                yield from (batch.slice(at, batch_rows) for at in range(0, batch.num_rows, batch_rows))

    return Run(count, size, read, name)


def _compressed(options: TableOptions) -> pa.ipc.IpcWriteOptions:
    """How files of runs are compressed; Arrow's format knows two ways."""
    chosen = options.get(SPILL_COMPRESSION)
    if chosen == "zstd":
        return pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", options.get(SPILL_COMPRESSION_ZSTD_LEVEL)))
    return pa.ipc.IpcWriteOptions(compression="lz4" if chosen == "lz4" else None)


def _most_runs(options: TableOptions) -> int:
    """How many runs may be open at a time; without the option as many as a bucket has before writers must wait."""
    threshold = options.get(SORT_SPILL_THRESHOLD)
    if threshold is not None:
        return threshold
    stop = options.get(NUM_SORTED_RUNS_STOP_TRIGGER)
    usual = stop + 1 if stop is not None else options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER) + _BEYOND_TRIGGER
    return max(usual, _LEAST_RUNS)

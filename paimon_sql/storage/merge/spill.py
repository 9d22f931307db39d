"""Spilling of sorted runs to local disk, and merging of many runs into few.

The memory of an open file does not shrink with its share of a window, so it would grow with the number of runs.
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
_MIN_RUNS = 32
_BATCHES_PER_WINDOW = 16
"""The number of batches per spilled window; a read holds only one of them per run in memory."""


def merged_windows(runs: Sequence[Run], by: RowOrder, options: TableOptions) -> Iterator[Window]:
    """Merge sorted runs in windows, within the memory limits of the table's options.

    ``sort-spill-buffer-size`` bounds a window, ``sort-spill-threshold`` the number of open runs. More runs are first
    merged on disk, unless all fit in one window.
    """
    window_bytes = options.get(SORT_SPILL_BUFFER_SIZE)
    max_runs = _max_runs(options)
    if len(runs) <= max_runs or sum(run.size for run in runs) <= window_bytes:
        yield from windows(runs, by, window_bytes)
        return
    with spill_folder() as directory:
        left = list(runs)
        while len(left) > max_runs:
            count = min(max_runs, len(left) - max_runs + 1)
            # Only neighbours may be merged: the order of the runs may be the only order of age.
            first = min(range(len(left) - count + 1), key=lambda i: sum(run.size for run in left[i : i + count]))
            several = left[first : first + count]
            name = f"{count} runs from {several[0].name} on"
            merged = windows(several, by, window_bytes)
            left[first : first + count] = [spill(merged, Path(directory, f"{len(left)}.arrow"), options, name)]
        yield from windows(left, by, window_bytes)


def spill_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary directory, in Spark's local directory if there is one."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return tempfile.TemporaryDirectory(prefix="paimon-spill-", dir=local if Path(local).is_dir() and local else None)


def spill(given: Iterable[Window], path: Path, options: TableOptions, name: str) -> Run:
    """Write windows as one run to a file, by key, and per key from the oldest to the newest."""
    writer: pa.RecordBatchStreamWriter | None = None
    count = size = 0
    with pa.OSFile(str(path), "wb") as sink:
        for window in given:
            rows = max(1, -(-len(window.order) // _BATCHES_PER_WINDOW))
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
    """Return the compression of spill files; Arrow IPC supports two codecs."""
    chosen = options.get(SPILL_COMPRESSION)
    if chosen == "zstd":
        return pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", options.get(SPILL_COMPRESSION_ZSTD_LEVEL)))
    return pa.ipc.IpcWriteOptions(compression="lz4" if chosen == "lz4" else None)


def _max_runs(options: TableOptions) -> int:
    """Return the max number of open runs; by default the number at which writers of a bucket would have to wait."""
    threshold = options.get(SORT_SPILL_THRESHOLD)
    if threshold is not None:
        return threshold
    stop = options.get(NUM_SORTED_RUNS_STOP_TRIGGER)
    default = stop + 1 if stop is not None else options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER) + _BEYOND_TRIGGER
    return max(default, _MIN_RUNS)

"""Many sorted runs made few: some are brought together on the local disk, so that few files are open at a time.

What an open file takes does not shrink with its share of a window, so memory would grow with the number of runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.compaction import NUM_SORTED_RUNS_COMPACTION_TRIGGER, NUM_SORTED_RUNS_STOP_TRIGGER
from paimon_sql.format.options.write import SORT_SPILL_BUFFER_SIZE, SORT_SPILL_THRESHOLD, SPILL_COMPRESSION
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
    codec = options.get(SPILL_COMPRESSION)
    with tempfile.TemporaryDirectory(prefix="paimon-spill-") as folder:
        left = list(runs)
        while len(left) > most:
            count = min(most, len(left) - most + 1)
            # Neighbours only: where nothing else tells older from newer rows, the order of the runs does.
            first = min(range(len(left) - count + 1), key=lambda i: sum(run.size for run in left[i : i + count]))
            path = Path(folder, f"{len(left)}.arrow")
            left[first : first + count] = [_spilled(left[first : first + count], by, window_bytes, path, codec)]
        yield from windows(left, by, window_bytes)


def _most_runs(options: TableOptions) -> int:
    """How many runs may be open at a time; without the option as many as a bucket has before writers must wait."""
    threshold = options.get(SORT_SPILL_THRESHOLD)
    if threshold is not None:
        return threshold
    stop = options.get(NUM_SORTED_RUNS_STOP_TRIGGER)
    usual = stop + 1 if stop is not None else options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER) + _BEYOND_TRIGGER
    return max(usual, _LEAST_RUNS)


def _spilled(runs: Sequence[Run], by: RowOrder, window_bytes: int, path: Path, codec: str) -> Run:
    """All rows of some runs as one run in a file: by key, those of a key from the oldest to the newest."""
    chosen = codec if codec in ("lz4", "zstd") else None
    writer: pa.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(path), "wb") as sink:
        for window in windows(runs, by, window_bytes):
            rows = max(1, len(window.order) // _BATCHES)
            for at in range(0, len(window.order), rows):
                piece = window.table.take(pa.array(window.order[at : at + rows])).combine_chunks()
                if writer is None:
                    writer = pa.ipc.new_stream(sink, piece.schema, options=pa.ipc.IpcWriteOptions(compression=chosen))
                writer.write_table(piece)
        if writer is not None:
            writer.close()

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        if writer is None:
            return
        with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as stream:
            for batch in stream:
                yield from (batch.slice(at, batch_rows) for at in range(0, batch.num_rows, batch_rows))

    return Run(sum(r.rows for r in runs), sum(r.size for r in runs), read, f"{len(runs)} runs from {runs[0].name} on")

"""Merge of sorted runs in windows of whole keys, in bounded memory: many runs are spilled to local disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations import compaction, write
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.expressions.kernels import sorting
from paimon_sql.storage.expressions.kernels.sorting import Indices, Mask, Segments

BATCH_ROWS = 65_536
"""Max number of rows per batch."""
_STEPS = 4
_MIN_SHARE = 8


@dataclass(frozen=True)
class Run:
    """A sorted run: rows in ascending order of the key.

    ``open`` starts reading in batches of at most the given number of rows; ``rows`` and ``size`` (bytes in memory) are
    estimates; ``name`` is for messages.
    """

    rows: int
    size: int
    open: Callable[[int], Iterator[pa.RecordBatch]]
    name: str = "a sorted run"


@dataclass(frozen=True)
class Window:
    """All rows of some keys.

    Attributes:
        table: the rows, run after run.
        order: row numbers sorted by key, and per key from the oldest to the newest.
        starts: the positions in ``order`` where keys begin.
    """

    table: pa.Table
    order: Indices
    starts: Indices

    @cached_property
    def segments(self) -> Segments:
        """The rows in order, grouped by key."""
        return Segments.of_starts(self.starts, len(self.order))

    @cached_property
    def kinds(self) -> npt.NDArray[np.int8]:
        """The kinds of the rows in order."""
        kinds: npt.NDArray[np.int8] = self.table[VALUE_KIND.name].to_numpy()[self.order]
        return kinds

    def where(self, mask: Mask) -> Window:
        """Return only the rows of the mask, in order; keys without rows are left out."""
        return Window(self.table, self.order[mask], self.segments.where(mask).starts)

    def pieces(self, rows: int) -> Iterator[pa.Table]:
        """The rows in order, at most so many at a time."""
        # Each `take` from a column of several chunks puts all of them together.
        whole = self.table.combine_chunks()
        for at in range(0, len(self.order), rows):
            yield whole.take(pa.array(self.order[at : at + rows]))

    @property
    def newest(self) -> Indices:
        """The row number of each key's newest row."""
        last: Indices = self.order[np.append(self.starts[1:], len(self.order))[: len(self.starts)] - 1]
        return last

    @property
    def oldest(self) -> Indices:
        """The row number of each key's oldest row."""
        return self.order[self.starts]


@dataclass(frozen=True)
class RowOrder:
    """The sort order of rows: key columns, then columns that order the rows of a key by age.

    With empty ``ties``, runs must be ordered from the oldest to the newest.
    """

    keys: tuple[str, ...]
    ties: tuple[tuple[str, bool], ...] = ()

    def sort(self, table: pa.Table) -> tuple[Indices, Indices]:
        """Return the sorted row numbers, and the positions where keys begin."""
        keys = [sorting.comparable(table[name]) for name in self.keys]
        ties = [sorting.SortColumn(sorting.comparable(table[name]), descending) for name, descending in self.ties]
        order = sorting.sort_order([*(sorting.SortColumn(k) for k in keys), *ties])
        return order, sorting.group_starts(keys, order)

    def key(self, table: pa.Table, row: int) -> tuple[object, ...]:
        """Return the key of a row as values that compare like keys."""
        return tuple(sorting.comparable(table[name].slice(row, 1))[0].as_py() for name in self.keys)


def windows(runs: Sequence[Run], by: RowOrder, window_bytes: int) -> Iterator[Window]:
    """Merge runs into windows of ascending keys.

    The bytes buffered of each run are proportional to its size, so that the buffers of all runs end at about the same
    key. Rows after the smallest of these end keys stay buffered for the next window.

    Args:
        runs: the sorted runs, from the oldest to the newest.
        by: the order of the rows.
        window_bytes: approximate memory limit; the rows of one key are in one window whatever their size.

    Raises:
        PaimonError: the rows of a run are not sorted by key.
    """
    total = max(1, sum(run.rows for run in runs))
    min_share = window_bytes // (_MIN_SHARE * max(1, len(runs)))
    feeds = [_Feed(run, max(min_share, window_bytes * run.rows // total)) for run in runs]
    previous: tuple[object, ...] | None = None
    while True:
        for feed in feeds:
            feed.fill()
        buffered = [feed for feed in feeds if feed.rows]
        if not buffered:
            return
        table = pa.concat_tables([feed.table for feed in buffered])
        order, starts = by.sort(table)
        ends = np.cumsum([feed.rows for feed in buffered])
        complete = _complete_keys(buffered, order, starts, ends)
        if not complete:
            continue
        cut = int(starts[complete]) if complete < len(starts) else len(order)
        _take(buffered, order[:cut], ends)
        first, last = (by.key(table, int(order[position])) for position in (0, cut - 1))
        if previous is not None and None not in (*first, *previous) and first <= previous:
            raise _unsorted(", ".join(feed.run.name for feed in buffered))
        previous = last
        yield Window(table, order[:cut], starts[:complete])


class _Feed:
    """The buffered rows of a run: its share, and up to a batch more."""

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
        """Read until the share is buffered, or the run ends."""
        self._read(lambda found: self._bytes >= self._share)

    def more(self) -> None:
        """Read one more batch."""
        self._read(bool)

    def drop(self, count: int) -> None:
        """Drop the first rows."""
        self.rows -= count
        self.table = self.table.slice(count) if self.rows else None
        self._bytes = self.table.nbytes if self.rows else 0

    def _read(self, is_enough: Callable[[list[pa.RecordBatch]], bool]) -> None:
        found: list[pa.RecordBatch] = []
        while self.is_open and not is_enough(found):
            batch = next(self._batches, None)
            if batch is None:
                self.is_open = False
            elif batch.num_rows:
                found.append(batch)
                self._bytes += batch.nbytes
        if found:
            added = pa.Table.from_batches(found)
            self.table = pa.concat_tables([self.table, added]) if self.rows else added
            self.rows += added.num_rows


def _complete_keys(buffered: Sequence[_Feed], order: Indices, starts: Indices, ends: npt.NDArray[np.int64]) -> int:
    """Return the number of keys with all rows buffered: those before the last buffered key of every unfinished run.

    If there is none, read more of the runs whose last buffered key is the first one.
    """
    unfinished = [(feed, end - 1) for feed, end in zip(buffered, ends, strict=True) if feed.is_open]
    if not unfinished:
        return len(starts)
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    keys = np.searchsorted(starts, positions[[row for _, row in unfinished]], side="right") - 1
    if not keys.min():
        for (feed, _), key in zip(unfinished, keys, strict=True):
            if not key:
                feed.more()
    return int(keys.min())


def _take(buffered: Sequence[_Feed], rows: Indices, ends: npt.NDArray[np.int64]) -> None:
    """Drop rows from the buffers; they must be the first rows of each run."""
    owners = np.searchsorted(ends, rows, side="right")
    counts = np.bincount(owners, minlength=len(buffered))
    ahead = rows >= (ends - [feed.rows for feed in buffered] + counts)[owners]
    if ahead.any():
        raise _unsorted(buffered[int(owners[ahead][0])].run.name)
    for feed, count in zip(buffered, counts, strict=True):
        feed.drop(int(count))


def _unsorted(name: str) -> PaimonError:
    return PaimonError(
        f"The rows of {name} are not sorted by key.",
        remedy="Another writer sorts keys differently: rewrite the table with it, then read it here.",
    )


_BEYOND_TRIGGER = 4
_MIN_RUNS = 32
_BATCHES_PER_WINDOW = 16
"""The number of batches per spilled window; a read holds only one of them per run in memory."""


def merged_windows(runs: Sequence[Run], by: RowOrder, options: TableOptions) -> Iterator[Window]:
    """Merge sorted runs in windows, within the memory limits of the table's options.

    ``sort-spill-buffer-size`` bounds a window, ``sort-spill-threshold`` the number of open runs, because the memory of
    an open file does not shrink with its share of a window. More runs are first merged on disk, unless all fit in one
    window.
    """
    window_bytes = options.get(write.SORT_SPILL_BUFFER_SIZE)
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
            for taken in window.pieces(rows):
                piece = taken.combine_chunks()
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
    chosen = options.get(write.SPILL_COMPRESSION)
    if chosen == "zstd":
        return pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", options.get(write.SPILL_COMPRESSION_ZSTD_LEVEL)))
    return pa.ipc.IpcWriteOptions(compression="lz4" if chosen == "lz4" else None)


def _max_runs(options: TableOptions) -> int:
    """Return the max number of open runs; by default the number at which writers of a bucket would have to wait."""
    threshold = options.get(write.SORT_SPILL_THRESHOLD)
    if threshold is not None:
        return threshold
    stop = options.get(compaction.NUM_SORTED_RUNS_STOP_TRIGGER)
    if stop is not None:
        return max(stop + 1, _MIN_RUNS)
    return max(options.get(compaction.NUM_SORTED_RUNS_COMPACTION_TRIGGER) + _BEYOND_TRIGGER, _MIN_RUNS)

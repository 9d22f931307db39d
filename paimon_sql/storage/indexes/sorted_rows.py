"""Sorting of a column's rows by key, in portions of bounded size; more than one portion is sorted through local disk.

Key ranges of portions do not overlap, so that few lookups need an index file. The borders are those of a sample of the
rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.global_index.base import SortedRows
from paimon_sql.storage.merge.spill import spill_folder

Longs = npt.NDArray[np.int64]
Keyed = tuple[pa.Array, Longs]
"""Keys, null allowed, and the row of each, in ascending order of rows."""

_SLACK = 1.2
"""The max size of a portion, as a multiple of its intended size."""
_SAMPLES = 1000
"""The number of sampled rows per portion."""
_SEED = 42


def sorted_portions(batches: Iterable[Keyed], portions: int, most_rows: int) -> Iterator[SortedRows]:
    """Sort rows by key and cut them into portions.

    Args:
        batches: the rows in order.
        portions: the approximate number of portions.
        most_rows: the intended number of rows of a portion.
    """
    if portions < 2:
        parts = list(batches)
        if parts:
            yield from _cut(*_concatenated(parts), most_rows)
        return
    with spill_folder() as directory:
        path = Path(directory, "rows.arrow")
        sample = _spilled(batches, path, portions * _SAMPLES)
        if sample is None:
            return
        borders = _borders(sample, portions)
        for file in _partitioned(path, borders, Path(directory)):
            with pa.OSFile(str(file)) as source:
                table = pa.ipc.open_stream(source).read_all()
            file.unlink()
            if len(table):
                yield from _cut(*_columns(table), most_rows)


def _concatenated(parts: list[Keyed]) -> Keyed:
    return pa.concat_arrays([keys for keys, _ in parts]), np.concatenate([rows for _, rows in parts])


def _columns(table: pa.Table) -> Keyed:
    keys = table["key"].combine_chunks()
    return keys, table["row"].to_numpy().astype(np.int64, copy=False)


def _cut(keys: pa.Array, rows: Longs, most_rows: int) -> Iterator[SortedRows]:
    """Sort rows, in several portions if they are too many for one; nulls first."""
    nulls = rows[pc.is_null(keys).to_numpy(zero_copy_only=False)] if keys.null_count else rows[:0]
    if keys.null_count:
        valid = pc.is_valid(keys)
        keys, rows = keys.filter(valid), rows[valid.to_numpy(zero_copy_only=False)]
    order = pc.sort_indices(keys)
    keys, rows = keys.take(order), rows[order.to_numpy().astype(np.int64)]
    max_rows = max(1, int(most_rows * _SLACK))
    total = len(nulls) + len(rows)
    for start in range(0, total, max_rows):
        end = min(start + max_rows, total)
        low, high = max(0, start - len(nulls)), max(0, end - len(nulls))
        yield SortedRows(keys.slice(low, high - low), rows[low:high], nulls[start:end])


def _spilled(batches: Iterable[Keyed], path: Path, wanted: int) -> pa.Array | None:
    """Write the rows to a file, and return the keys of a sample; None without rows."""
    rng = np.random.default_rng(_SEED)
    writer: pa.RecordBatchStreamWriter | None = None
    sample: list[pa.Array] = []
    taken, seen = 0, 0
    with pa.OSFile(str(path), "wb") as sink:
        for keys, rows in batches:
            batch = pa.record_batch({"key": keys, "row": pa.array(rows)})
            if writer is None:
                writer = pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
            seen += len(keys)
            # Proportional to the batch's share of the rows so far, at least one.
            count = min(len(keys), max(1, wanted * len(keys) // max(seen, 1)))
            sample.append(keys.take(pa.array(rng.choice(len(keys), count, replace=False))).drop_null())
            taken += count
        if writer is None:
            return None
        writer.close()
    return pa.concat_arrays(sample)


def _borders(sample: pa.Array, portions: int) -> pa.Array:
    """The distinct keys that divide a sample into portions of about equal size."""
    ordered = sample.take(pc.sort_indices(sample))
    positions = np.unique((np.arange(1, portions) * len(ordered)) // portions)
    return pc.unique(ordered.take(pa.array(positions[positions < len(ordered)])))


def _partitioned(path: Path, borders: pa.Array, directory: Path) -> list[Path]:
    """Distribute the rows of a file to one file per portion, in the order of rows."""
    paths = [Path(directory, f"part-{i}.arrow") for i in range(len(borders) + 1)]
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_stream(source)
        sinks = [pa.OSFile(str(p), "wb") for p in paths]
        writers = [pa.ipc.new_stream(sink, reader.schema) for sink in sinks]
        try:
            for batch in reader:
                numbers = _portions_of(batch.column("key"), borders)
                for i in np.unique(numbers).tolist():
                    writers[i].write_batch(batch.filter(pa.array(numbers == i)))
        finally:
            for writer, sink in zip(writers, sinks, strict=True):
                writer.close()
                sink.close()
    path.unlink()
    return paths


def _portions_of(keys: pa.Array, borders: pa.Array) -> Longs:
    """The portion of each key: the number of borders that are not greater; nulls belong to the first portion."""
    valued = np.flatnonzero(pc.is_valid(keys).to_numpy(zero_copy_only=False))
    numbers, found = np.zeros(len(keys), np.int64), np.zeros(len(valued), np.int64)
    order = pc.sort_indices(pa.concat_arrays([borders, keys.drop_null()])).to_numpy().astype(np.int64)
    is_border = order < len(borders)
    found[order[~is_border] - len(borders)] = np.cumsum(is_border)[~is_border]
    numbers[valued] = found
    return numbers

"""Rows of a column sorted by its keys, in portions of bounded size: those of more rows go by way of the local disk.

A portion holds the keys between those of its neighbours, so that an index file of it is asked for few keys only. Where
the borders lie is told by a sample of the rows.
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
"""Keys, some of them null, and the row of each; rows ascend."""

_SLACK = 1.2
"""How many times its meant size a portion may have."""
_SAMPLES = 1000
"""How many rows of each portion a sample has."""
_SEED = 42


def sorted_portions(batches: Iterable[Keyed], portions: int, most_rows: int) -> Iterator[SortedRows]:
    """The rows sorted by key and cut into portions.

    Args:
        batches: the rows in their order.
        portions: into how many portions they are parted, more or less.
        most_rows: how many rows a portion is meant to have.
    """
    if portions < 2:
        held = list(batches)
        if held:
            yield from _cut(*_together(held), most_rows)
        return
    with spill_folder() as folder:
        path = Path(folder, "rows.arrow")
        sample = _spilled(batches, path, portions * _SAMPLES)
        if sample is None:
            return
        borders = _borders(sample, portions)
        for part in _parted(path, borders, Path(folder)):
            with pa.OSFile(str(part)) as source:
                table = pa.ipc.open_stream(source).read_all()
            part.unlink()
            if len(table):
                yield from _cut(*_columns(table), most_rows)


def _together(held: list[Keyed]) -> Keyed:
    return pa.concat_arrays([keys for keys, _ in held]), np.concatenate([rows for _, rows in held])


def _columns(table: pa.Table) -> Keyed:
    keys = table["key"].combine_chunks()
    return keys, table["row"].to_numpy().astype(np.int64, copy=False)


def _cut(keys: pa.Array, rows: Longs, most_rows: int) -> Iterator[SortedRows]:
    """Sorted rows, in several portions if they are too many for one; nulls come first."""
    nulls = rows[pc.is_null(keys).to_numpy(zero_copy_only=False)] if keys.null_count else rows[:0]
    if keys.null_count:
        valid = pc.is_valid(keys)
        keys, rows = keys.filter(valid), rows[valid.to_numpy(zero_copy_only=False)]
    order = pc.sort_indices(keys)
    keys, rows = keys.take(order), rows[order.to_numpy().astype(np.int64)]
    most = max(1, int(most_rows * _SLACK))
    total = len(nulls) + len(rows)
    for start in range(0, total, most):
        end = min(start + most, total)
        low, high = max(0, start - len(nulls)), max(0, end - len(nulls))
        yield SortedRows(keys.slice(low, high - low), rows[low:high], nulls[start:end])


def _spilled(batches: Iterable[Keyed], path: Path, wanted: int) -> pa.Array | None:
    """Write the rows to a file: keys of a sample of them; None if there are no rows."""
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
            # Each batch gives as many as are its share of what is seen so far, and at least some.
            count = min(len(keys), max(1, wanted * len(keys) // max(seen, 1)))
            sample.append(keys.take(pa.array(rng.choice(len(keys), count, replace=False))).drop_null())
            taken += count
        if writer is None:
            return None
        writer.close()
    return pa.concat_arrays(sample)


def _borders(sample: pa.Array, portions: int) -> pa.Array:
    """Keys that part a sample into portions of about one size, each once."""
    ordered = sample.take(pc.sort_indices(sample))
    places = np.unique((np.arange(1, portions) * len(ordered)) // portions)
    return pc.unique(ordered.take(pa.array(places[places < len(ordered)])))


def _parted(path: Path, borders: pa.Array, folder: Path) -> list[Path]:
    """The rows of a file in as many files as there are portions; the row order is kept in each."""
    paths = [Path(folder, f"part-{i}.arrow") for i in range(len(borders) + 1)]
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
    """The portion of each key: how many borders are not greater; nulls belong to the first."""
    valued = np.flatnonzero(pc.is_valid(keys).to_numpy(zero_copy_only=False))
    numbers, found = np.zeros(len(keys), np.int64), np.zeros(len(valued), np.int64)
    order = pc.sort_indices(pa.concat_arrays([borders, keys.drop_null()])).to_numpy().astype(np.int64)
    is_border = order < len(borders)
    found[order[~is_border] - len(borders)] = np.cumsum(is_border)[~is_border]
    numbers[valued] = found
    return numbers

"""Small batches put together, so that what is done once a batch counts for little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

_ROWS = 32_768
_BYTES = 8 * 1024 * 1024


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of all batches in their order, in batches of some ten thousand rows or some megabytes."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield _joined(held)
            held, rows, size = [], 0, 0
    if held:
        yield _joined(held)


def _joined(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    return held[0] if len(held) == 1 else pa.concat_batches(held)

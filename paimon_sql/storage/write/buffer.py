"""Write buffers: rows in memory by bucket, bounded in total."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

Target = tuple[bytes, int]


class BucketBuffers:
    """Buffers batches by partition and bucket.

    When the buffers exceed the capacity, the largest are flushed until half of it is free. With a portion, a bucket is
    also flushed as soon as it reaches it.

    Args:
        capacity: the max bytes of all buffers.
        flush: receives a bucket's rows; it must not keep them.
        relieve: receives the rows that exceed the capacity, instead of ``flush``.
        portion: the bytes of a bucket's rows at which it is flushed.
    """

    def __init__(
        self,
        capacity: int,
        flush: Callable[[Target, pa.Table], None],
        relieve: Callable[[Target, pa.Table], None] | None = None,
        portion: int | None = None,
    ) -> None:
        self._capacity = capacity
        self._flush = flush
        self._relieve_by = relieve or flush
        self._portion = portion
        self._batches: dict[Target, list[pa.RecordBatch]] = {}
        self._sizes: dict[Target, int] = {}
        self._total = 0

    def add(self, target: Target, rows: pa.RecordBatch) -> None:
        """Buffer rows of one bucket."""
        size = rows.nbytes
        self._batches.setdefault(target, []).append(rows)
        self._sizes[target] = self._sizes.get(target, 0) + size
        self._total += size
        if self._portion is not None and self._sizes[target] >= self._portion:
            self._flush_to(target, self._flush)
        elif self._total > self._capacity:
            self._relieve()

    def flush(self) -> None:
        """Flush all buckets, in the order of their first rows."""
        for target in list(self._batches):
            self._flush_to(target, self._flush)

    def _relieve(self) -> None:
        for target in sorted(self._sizes, key=lambda t: -self._sizes[t]):
            if self._total <= self._capacity // 2:
                break
            self._flush_to(target, self._relieve_by)
        # The rest is often a few rows sliced from a batch, and would keep all of the batch in memory.
        for target, batches in self._batches.items():
            rows = pa.Table.from_batches(batches)
            self._batches[target] = rows.take(np.arange(len(rows))).combine_chunks().to_batches()

    def _flush_to(self, target: Target, receiver: Callable[[Target, pa.Table], None]) -> None:
        rows = pa.Table.from_batches(self._batches.pop(target))
        self._total -= self._sizes.pop(target)
        receiver(target, rows)

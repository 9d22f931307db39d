"""Rows waiting to be written, bucket by bucket, within a bound of memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

Target = tuple[bytes, int]


class BucketBuffers:
    """Collects batches by partition and bucket.

    When all of them together outgrow the bound, the biggest are handed on, until half of the bound is free again. Where
    a portion is given, a bucket is handed on as soon as it holds as much.

    Args:
        capacity: the bound in bytes.
        flush: takes a bucket's rows; it must not keep them.
        relieve: takes those that there is no room for instead.
        portion: the bytes of a bucket's rows that are worth being handed on.
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
        self._move = relieve or flush
        self._portion = portion
        self._held: dict[Target, list[pa.RecordBatch]] = {}
        self._sizes: dict[Target, int] = {}
        self._total = 0

    def add(self, target: Target, rows: pa.RecordBatch) -> None:
        """Take rows of one bucket."""
        size = rows.nbytes
        self._held.setdefault(target, []).append(rows)
        self._sizes[target] = self._sizes.get(target, 0) + size
        self._total += size
        if self._portion is not None and self._sizes[target] >= self._portion:
            self._hand_on(target, self._flush)
        elif self._total > self._capacity:
            self._relieve()

    def flush(self) -> None:
        """Hand on everything, in the order in which the buckets came up."""
        for target in list(self._held):
            self._hand_on(target, self._flush)

    def _relieve(self) -> None:
        for target in sorted(self._sizes, key=lambda t: -self._sizes[t]):
            if self._total <= self._capacity // 2:
                break
            self._hand_on(target, self._move)
        # What stays is often a few rows of a batch, and would keep the whole batch in memory.
        for target, batches in self._held.items():
            rows = pa.Table.from_batches(batches)
            self._held[target] = rows.take(np.arange(len(rows))).combine_chunks().to_batches()

    def _hand_on(self, target: Target, taker: Callable[[Target, pa.Table], None]) -> None:
        rows = pa.Table.from_batches(self._held.pop(target))
        self._total -= self._sizes.pop(target)
        taker(target, rows)

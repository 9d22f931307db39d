"""Assigner partitions: new keys are assigned to buckets with room first, then to new buckets.

Assigners run in parallel, each with its own buckets: assigner partition ``i`` of ``n`` opens the buckets ``i``,
``i + n``, ``i + 2n`` and so on, so that no two open the same bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import InvalidInputError

MAX_BUCKETS = 32767
"""The max number of buckets: readers of hash indexes store bucket numbers in 16 bits."""


@dataclass
class AssignerPartition:
    """The share of a partition's buckets that one writer assigns (Paimon: Dynamic Bucket).

    Attributes:
        number: the index of this share.
        count: the number of shares.
        target: the number of keys in a bucket at which the next one is opened.
        max_buckets: the max number of buckets of the partition, at least ``lanes``; -1 for no limit.
        counts: the number of keys by bucket.
    """

    number: int
    count: int
    target: int
    max_buckets: int = -1
    counts: dict[int, int] = field(default_factory=dict)

    def place(self, keys: int) -> npt.NDArray[np.int32]:
        """Assign buckets to new keys, in their order, and count them.

        Raises:
            InvalidInputError: the partition would have more than `MAX_BUCKETS` buckets.
        """
        placed: list[npt.NDArray[np.int32]] = []
        for known in sorted(self.counts):
            keys -= self._put(placed, known, min(keys, self.target - self.counts[known]))
        while keys > 0:
            bucket = self._next()
            if bucket is None:
                placed.append(self._spread(keys))
                break
            self.counts[bucket] = 0
            keys -= self._put(placed, bucket, min(keys, self.target))
        return np.concatenate(placed) if placed else np.zeros(0, np.int32)

    def _put(self, placed: list[npt.NDArray[np.int32]], bucket: int, keys: int) -> int:
        if keys <= 0:
            return 0
        self.counts[bucket] += keys
        placed.append(np.full(keys, bucket, np.int32))
        return keys

    def _next(self) -> int | None:
        """The lowest bucket that is not open; None if the limit is reached."""
        bucket = self.number
        while bucket in self.counts:
            bucket += self.count
        if self.max_buckets != -1 and bucket >= self.max_buckets:
            return None
        if bucket >= MAX_BUCKETS:
            raise InvalidInputError(
                f"A partition cannot have more than {MAX_BUCKETS} dynamic buckets, of {self.target} keys each.",
                remedy="Raise 'dynamic-bucket.target-row-num', or set 'dynamic-bucket.max-buckets'.",
            )
        return bucket

    def _spread(self, keys: int) -> npt.NDArray[np.int32]:
        """Assign keys round-robin to full buckets, the emptiest first, when the limit is reached."""
        order = sorted(self.counts, key=lambda b: (self.counts[b], b))
        turns = np.arange(keys) % len(order)
        for index, taken in enumerate(np.bincount(turns, minlength=len(order))):
            self.counts[order[index]] += int(taken)
        return np.array(order, np.int32)[turns]

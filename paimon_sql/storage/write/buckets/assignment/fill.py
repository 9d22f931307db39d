"""New keys into buckets: those with room first, then new ones, all of them buckets of one lane.

Assigners work side by side, each in a lane of its own: lane ``i`` of ``n`` opens the buckets ``i``, ``i + n``,
``i + 2n`` and so on, so that no two lanes open the same bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import InvalidInputError

MOST_BUCKETS = 32767
"""Readers of hash indexes keep bucket numbers in 16 bits."""


@dataclass
class AssignerPartition:
    """The buckets of one lane in one partition.

    Attributes:
        number: which lane it is.
        lanes: how many lanes there are.
        target: how many keys a bucket takes before the next one is opened.
        most: the greatest number of buckets of the whole partition, no less than there are lanes; -1 sets no limit.
        counts: how many keys each bucket of the lane holds.
    """

    number: int
    lanes: int
    target: int
    most: int = -1
    counts: dict[int, int] = field(default_factory=dict)

    def place(self, keys: int) -> npt.NDArray[np.int32]:
        """A bucket for each of so many new keys, in their order; the buckets count them from now on.

        Raises:
            InvalidInputError: the partition would have more buckets than the format can number.
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
        """The least bucket that the lane has not opened; None if the partition may have no more."""
        bucket = self.number
        while bucket in self.counts:
            bucket += self.lanes
        if self.most != -1 and bucket >= self.most:
            return None
        if bucket >= MOST_BUCKETS:
            raise InvalidInputError(
                f"A partition cannot have more than {MOST_BUCKETS} dynamic buckets, of {self.target} keys each.",
                remedy="Raise 'dynamic-bucket.target-row-num', or set 'dynamic-bucket.max-buckets'.",
            )
        return bucket

    def _spread(self, keys: int) -> npt.NDArray[np.int32]:
        """All buckets are full and there may be no more: the lane's buckets take the keys by turns, emptiest first."""
        order = sorted(self.counts, key=lambda b: (self.counts[b], b))
        turns = np.arange(keys) % len(order)
        for place, taken in enumerate(np.bincount(turns, minlength=len(order))):
            self.counts[order[place]] += int(taken)
        return np.array(order, np.int32)[turns]

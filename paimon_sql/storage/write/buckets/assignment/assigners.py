"""Assigners of dynamic buckets: existing keys stay in their bucket, new keys get one with room or a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.bucket import DYNAMIC_BUCKET_MAX_BUCKETS, DYNAMIC_BUCKET_TARGET_ROW_NUM
from paimon_sql.format.rows.bucket_functions import row_hash
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.data_files.live_files import grouped
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import HashIndexFile
from paimon_sql.storage.write.writers import Target

MAX_BUCKETS = 32767
"""The max number of buckets: readers of hash indexes store bucket numbers in 16 bits."""


@dataclass
class AssignerPartition:
    """The share of a partition's buckets that one writer assigns (Paimon: `PartitionIndex`).

    Share ``i`` of ``n`` opens the buckets ``i``, ``i + n``, ``i + 2n`` and so on, so that no two writers open the same.

    Attributes:
        number: the index of this share.
        count: the number of shares.
        target: the number of keys in a bucket at which the next one is opened.
        max_buckets: the max number of buckets of the partition, at least ``count``; -1 for no limit.
        counts: the number of keys by bucket.
    """

    number: int
    count: int
    target: int
    max_buckets: int = -1
    counts: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, options: TableOptions, number: int, count: int) -> AssignerPartition:
        """A share without buckets, by a table's options."""
        target, max_buckets = options.get(DYNAMIC_BUCKET_TARGET_ROW_NUM), options.get(DYNAMIC_BUCKET_MAX_BUCKETS)
        return cls(number, count, max(1, target), max_buckets)

    def place(self, keys: int) -> npt.NDArray[np.int32]:
        """Assign buckets to new keys, in their order, and count them.

        Raises:
            InvalidInputError: the partition would have more than `MAX_BUCKETS` buckets.
        """
        placed = [np.zeros(0, np.int32)]
        with_room = sorted(b for b, keys_in_it in self.counts.items() if keys_in_it < self.target)
        buckets = chain(with_room, self._opened())
        while keys > 0:
            bucket = next(buckets, None)
            if bucket is None:
                placed.append(self._spread(keys))
                break
            taken = max(0, min(keys, self.target - self.counts[bucket]))
            self.counts[bucket] += taken
            placed.append(np.full(taken, bucket, np.int32))
            keys -= taken
        return np.concatenate(placed)

    def _opened(self) -> Iterator[int]:
        """Open the lowest bucket that is not open, again and again until the limit is reached."""
        for bucket in count(self.number, self.count):
            if bucket in self.counts:
                continue
            if self.max_buckets != -1 and bucket >= self.max_buckets:
                return
            if bucket >= MAX_BUCKETS:
                raise InvalidInputError(
                    f"A partition cannot have more than {MAX_BUCKETS} dynamic buckets, of {self.target} keys each.",
                    remedy="Raise 'dynamic-bucket.target-row-num', or set 'dynamic-bucket.max-buckets'.",
                )
            self.counts[bucket] = 0
            yield bucket

    def _spread(self, keys: int) -> npt.NDArray[np.int32]:
        """Assign keys round-robin to full buckets, the emptiest first, when the limit is reached."""
        order = sorted(self.counts, key=lambda b: (self.counts[b], b))
        turns = np.arange(keys) % len(order)
        for index, taken in enumerate(np.bincount(turns, minlength=len(order))):
            self.counts[order[index]] += int(taken)
        return np.array(order, np.int32)[turns]


Hashes = npt.NDArray[np.int32]
Buckets = npt.NDArray[np.int32]
_Known = tuple[Hashes, npt.NDArray[np.int16]]


class HashAssigner:
    """Assigns rows to dynamic buckets by the hash of their keys (Paimon: `HashBucketAssigner`).

    The hash indexes of a partition are read with its first row, and only the hashes of assigner partitions with rows
    are kept: 6 bytes of memory per key.

    Args:
        table: the table.
        index: the hash indexes before the write; empty if the rows replace all others.
        assigners: the number of assigner partitions; all rows of one must be given to the same assigner.
    """

    def __init__(self, table: Table, index: Mapping[Target, HashIndexFile], assigners: int) -> None:
        self._table = table
        self._assigners = assigners
        self._files = grouped((partition, (bucket, file)) for (partition, bucket), file in index.items())
        self._router = Router(table.schema, 1)
        self._known: dict[bytes, dict[int, _KnownAssignerPartition]] = {}

    def assign(self, batch: pa.RecordBatch) -> Buckets:
        """The bucket of each row of a batch with at least the key and partition columns."""
        buckets = np.zeros(batch.num_rows, np.int32)
        if not batch.num_rows:
            return buckets
        hashes = key_hashes(self._table.schema, batch)
        partitions, codes = self._router.partitions_of(batch)
        groups = codes * self._assigners + assigner_partition_of(hashes, self._assigners)
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            code, number = divmod(int(groups[rows[0]]), self._assigners)
            buckets[rows] = self._assigner_partition(partitions[code], number, groups, code).assign(hashes[rows])
        return buckets

    def _assigner_partition(
        self, partition: bytes, number: int, groups: npt.NDArray[np.int64], code: int
    ) -> _KnownAssignerPartition:
        known = self._known.setdefault(partition, {})
        if number not in known:
            present = np.unique(groups[groups // self._assigners == code] % self._assigners)
            self._load(partition, [n for n in present.tolist() if n not in known], known)
        return known[number]

    def _load(self, partition: bytes, numbers: Sequence[int], known: dict[int, _KnownAssignerPartition]) -> None:
        files = self._files.get(partition, [])
        found: dict[int, list[_Known]] = {n: [] for n in numbers}
        for bucket, file in files:
            hashes = file.read(self._table)
            owners = assigner_partition_of(hashes, self._assigners)
            for number in numbers:
                theirs = hashes[owners == number]
                found[number].append((theirs, np.full(len(theirs), bucket, np.int16)))
        for number, parts in found.items():
            counts = {bucket: file.rows for bucket, file in files if file.counts and bucket % self._assigners == number}
            share = AssignerPartition.of(self._table.options, number, self._assigners)
            share.counts |= counts
            known[number] = _KnownAssignerPartition(share, parts)


class _KnownAssignerPartition:
    """The known hashes of an assigner partition, sorted, with their buckets.

    New hashes are kept separately, so that a few of them do not cause a copy of all.
    """

    def __init__(self, share: AssignerPartition, parts: Sequence[_Known]) -> None:
        self._assigner_partition = share
        self._old = _sorted(parts)
        self._new = _sorted([])

    def assign(self, hashes: Hashes) -> Buckets:
        distinct, first, codes = np.unique(hashes, return_index=True, return_inverse=True)
        buckets = np.full(len(distinct), -1, np.int32)
        for known, known_buckets in (self._old, self._new):
            if len(known):
                at = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
                hit = known[at] == distinct
                buckets[hit] = known_buckets[at[hit]]
        missing = np.flatnonzero(buckets < 0)
        if len(missing):
            in_order = missing[np.argsort(first[missing])]
            buckets[in_order] = self._assigner_partition.place(len(in_order))
            self._learn(distinct[missing], buckets[missing])
        return buckets[codes]

    def _learn(self, hashes: Hashes, buckets: Buckets) -> None:
        self._new = _sorted([self._new, (hashes, buckets.astype(np.int16))])
        if len(self._new[0]) * 4 > len(self._old[0]):
            self._old = _sorted([self._old, self._new])
            self._new = _sorted([])


def _sorted(parts: Sequence[_Known]) -> _Known:
    if not parts:
        return np.zeros(0, np.int32), np.zeros(0, np.int16)
    hashes = np.concatenate([h for h, _ in parts])
    order = np.argsort(hashes, kind="stable")
    return hashes[order], np.concatenate([b for _, b in parts])[order]


def key_hashes(schema: TableSchema, batch: pa.RecordBatch) -> Hashes:
    """The hash of each row's primary key without partition columns, as in hash indexes."""
    fields = schema.key_fields
    return row_hash([batch.column(f.name) for f in fields], [f.type for f in fields])


def assigner_partition_of(hashes: Hashes, assigners: int) -> npt.NDArray[np.int64]:
    """The assigner partition of each key: the remainder of the absolute value of its hash."""
    return np.abs(hashes.astype(np.int64)) % assigners

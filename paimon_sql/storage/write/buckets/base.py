"""Base class of bucket modes, and their registry; the state of a table by which they plan its writes.

The hashes of the keys in dynamic buckets are in hash indexes (spec: Table Index).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import itemgetter
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.discovery import implementations
from paimon_sql.errors import CommitConflictError, CorruptFileError, UnsupportedError
from paimon_sql.format.metadata.index_files import read_hash_index
from paimon_sql.format.metadata.index_manifest import HASH_INDEX, IndexFileMeta
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.staging.proposal import Overwrite, Proposal
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.task import WriteTask
from paimon_sql.storage.write.writers import Target

K = TypeVar("K", bound=Hashable)
_FEW_PARTITIONS = 8
"""How many partitions are read one by one; the one after them reads all."""


class BucketMode(ABC):
    """How the rows of a table find their buckets (Paimon: ``BucketMode``).

    Class attributes:
        name: Paimon's name of the mode.
        number: the value of the option ``bucket``; None for a mode with any number above 0.
        has_buckets: whether rows belong to buckets.
        is_fixed: whether a row's bucket depends on its bucket key alone.
        is_shared: whether any task may write any row, for no task owns a bucket.
        spans_partitions: whether a key is unique across partitions.
        is_postponed: whether rows are written before their bucket is known.
    """

    name: ClassVar[str]
    number: ClassVar[int | None] = None
    has_buckets: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = False
    is_shared: ClassVar[bool] = False
    spans_partitions: ClassVar[bool] = False
    is_postponed: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def suits(cls, schema: TableSchema) -> bool:
        """Whether this is the mode of a table with its `number` of buckets; each table has exactly one."""

    @abstractmethod
    def plan(self, state: WriteState) -> WriteTask:
        """Plan the task that each writer of a statement runs."""

    def describe(self, table: Table) -> str:
        """How a table's rows find their buckets, in a few words."""
        return f"bucket mode {self.name}"


@dataclass(frozen=True)
class WriteState:
    """The state of a table before a write.

    Attributes:
        table: the table.
        overwrite: what the write replaces; None for an append.
        snapshot: the newest snapshot; None for an empty table.
    """

    table: Table
    overwrite: Overwrite | None
    snapshot: Snapshot | None

    @cached_property
    def files(self) -> pa.Table:
        """The files that the write does not replace, as a table of ``MANIFEST_SCHEMA``."""
        return self.files_of(None)

    def files_of(self, partitions: Collection[bytes] | None) -> pa.Table:
        """Those of `files` that are in some serialized partitions; None for all."""
        if self.overwrite is not None and (self.overwrite.dynamic or self.overwrite.partitions is None):
            # A dynamic overwrite replaces the partitions of its rows, so the files in these do not matter to it.
            return MANIFEST_SCHEMA.empty_table()
        live = live_files(self.table, self.snapshot, partitions=partitions).entries
        if self.overwrite is None:
            return live
        replaced = filter_partitions(self.table, live, self.overwrite.partitions)["file_name"]
        return live.filter(pc.invert(pc.is_in(live["file_name"], value_set=replaced.combine_chunks())))

    def files_in(self, partition: bytes) -> pa.Table:
        """Those of `files` that are in a serialized partition; each partition is read once."""
        if not self.table.schema.partition_keys:
            return self.files
        if partition not in self._files_by_partition:
            self._files_by_partition[partition] = self.files_of([partition])
        return self._files_by_partition[partition]

    @cached_property
    def _files_by_partition(self) -> dict[bytes, pa.Table]:
        return {}

    @cached_property
    def sequences(self) -> Mapping[Target, int]:
        """The max sequence number by partition and bucket."""
        return KnownByPartition(self, _sequences, itemgetter(0))

    @cached_property
    def bucket_numbers(self) -> Mapping[bytes, int]:
        """The number of buckets by partition, from its files; without partitions whose number is not fixed."""
        return KnownByPartition(self, _bucket_numbers, bytes)

    @cached_property
    def row_counts(self) -> Mapping[Target, int]:
        """The estimated number of keys by partition and bucket: rows in files, less deletes and the rows they delete.

        Unmerged rows of one key count each, so a bucket may have fewer keys.
        """
        sums = [("row_count", "sum"), ("delete_row_count", "sum")]
        return {
            (g["partition"], g["bucket"]): max(0, g["row_count_sum"] - 2 * (g["delete_row_count_sum"] or 0))
            for g in self.files.group_by(["partition", "bucket"]).aggregate(sums).to_pylist()
        }

    @cached_property
    def hash_indexes(self) -> Mapping[Target, HashIndexFile]:
        """The hash indexes of the files that stay, by partition and bucket.

        The index of a bucket without files counts as empty; a write that fills the bucket replaces it.
        """
        live = live_files(self.table, self.snapshot).entries
        overwritten = set(live["partition"].to_pylist()) - set(self.files["partition"].to_pylist())
        filled = set(zip(self.files["partition"].to_pylist(), self.files["bucket"].to_pylist(), strict=True))
        return {
            target: index if target in filled else replace(index, counts=False)
            for target, index in hash_indexes(self.table, self.snapshot).items()
            if target[0] not in overwritten
        }


class KnownByPartition(Mapping[K, int]):
    """What the files before a write say of their partitions, which are read when they are asked for.

    A write of few rows so reads the manifests of their partitions only. A pickled one is complete.

    Args:
        state: the state of the table.
        summarize: makes the values of files, as a table of ``MANIFEST_SCHEMA``.
        partition_of: the serialized partition of a key.
    """

    def __init__(
        self, state: WriteState, summarize: Callable[[pa.Table], Mapping[K, int]], partition_of: Callable[[K], bytes]
    ) -> None:
        self._state = state
        self._summarize = summarize
        self._partition_of = partition_of
        self._known: dict[bytes, Mapping[K, int]] = {}

    def __getitem__(self, key: K) -> int:
        if len(self._known) >= _FEW_PARTITIONS:
            return self._complete[key]
        partition = self._partition_of(key)
        if partition not in self._known:
            self._known[partition] = self._summarize(self._state.files_in(partition))
        return self._known[partition][key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._complete)

    def __len__(self) -> int:
        return len(self._complete)

    def __reduce__(self) -> tuple[type, tuple[dict[K, int]]]:
        return dict, (dict(self._complete),)

    @cached_property
    def _complete(self) -> Mapping[K, int]:
        return self._summarize(self._state.files)


def _sequences(files: pa.Table) -> Mapping[Target, int]:
    grouped = files.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
    return {(g["partition"], g["bucket"]): g["max_sequence_number_max"] for g in grouped.to_pylist()}


def _bucket_numbers(files: pa.Table) -> Mapping[bytes, int]:
    fixed = files.filter(pc.greater(files["total_buckets"], 0))
    grouped = fixed.group_by("partition").aggregate([("total_buckets", "max")])
    return {g["partition"]: g["total_buckets_max"] for g in grouped.to_pylist()}


@cache
def _modes() -> tuple[BucketMode, ...]:
    return tuple(mode() for mode in implementations("paimon_sql.storage.write.buckets.modes", BucketMode))


def special_numbers() -> set[int | None]:
    """The values of the option ``bucket`` that are no number of buckets."""
    return {mode.number for mode in _modes()}


def bucket_mode(schema: TableSchema) -> BucketMode:
    """The bucket mode of a table.

    Raises:
        UnsupportedError: no mode suits the table.
    """
    buckets = TableOptions(schema.options).get(BUCKET)
    for mode in _modes():
        if mode.number == (None if buckets > 0 else buckets) and mode.suits(schema):
            return mode
    raise UnsupportedError("No bucket mode suits the option 'bucket' and the primary key of the table.")


def bound_partition_keys(schema: TableSchema) -> tuple[str, ...]:
    """The partition columns that identify a row together with the primary key, as a key may be in several partitions.

    Only cross-partition writes find a key in any partition; the other modes look into the row's partition only.
    """
    if not schema.has_key or bucket_mode(schema).spans_partitions:
        return ()
    return tuple(name for name in schema.partition_keys if name not in schema.primary_keys)


@dataclass(frozen=True)
class HashIndexFile:
    """The hash index of a bucket.

    Attributes:
        path: its path.
        file: its metadata in the index manifest.
        counts: whether the index applies; False if the bucket is empty.
    """

    path: str
    file: IndexFileMeta
    counts: bool = True

    @property
    def rows(self) -> int:
        """The number of keys in the bucket."""
        return self.file.row_count if self.counts else 0

    def read(self, table: Table) -> npt.NDArray[np.int32]:
        """The hashes of the bucket's keys.

        Raises:
            MissingFileError: the file does not exist.
            CorruptFileError: its number of hashes is not that of the index manifest.
        """
        if not self.counts:
            return np.zeros(0, np.int32)
        hashes = read_hash_index(table.file_io.read_bytes(self.path), self.path)
        if len(hashes) != self.file.row_count:
            raise CorruptFileError(
                f"the hash index holds {len(hashes)} keys, but {self.file.row_count} according to the index manifest",
                path=self.path,
            )
        return hashes


def hash_indexes(table: Table, snapshot: Snapshot | None) -> dict[Target, HashIndexFile]:
    """The hash indexes of a snapshot by partition and bucket."""
    return {
        (e.partition, e.bucket): HashIndexFile(index_path(table, e), e.file)
        for e in index_entries(table, snapshot)
        if e.file.index_type == HASH_INDEX
    }


def check_hash_indexes(
    table: Table, seen: Mapping[Target, HashIndexFile], partitions: Collection[bytes], proposal: Proposal
) -> None:
    """Check that the hash indexes of some partitions did not change since a writer read them.

    A writer assigns buckets to new keys by these indexes. If a concurrent writer added the same keys, a key could be in
    two buckets.

    Args:
        table: the table.
        seen: the hash indexes that the writer read.
        partitions: the partitions that it wrote to.
        proposal: the commit.

    Raises:
        CommitConflictError: they changed.
    """
    now = {t: i.file.file_name for t, i in hash_indexes(table, proposal.latest).items() if t[0] in partitions}
    then = {t: i.file.file_name for t, i in seen.items() if t[0] in partitions}
    if now != then:
        partition = next(iter(dict(now.items() ^ then.items())))[0]
        path = table.locations.partition(partition)
        raise CommitConflictError(
            f"{table.name}: another job concurrently added new keys to the dynamic buckets of"
            f" {f'partition {path}' if path else 'the table'}, so a key could be in two buckets.",
            remedy="Run the statement again; let one job at a time write to a partition with dynamic buckets.",
        )

"""Base class of bucket modes, and the state of a table by which they plan its writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.hash_indexes import HashIndexFile, hash_indexes
from paimon_sql.storage.write.task import WriteTask
from paimon_sql.storage.write.writers import Target


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
        live = live_files(self.table, self.snapshot).entries
        if self.overwrite is None:
            return live
        # A dynamic overwrite replaces the partitions of its rows, so the files in these do not matter to it.
        if self.overwrite.dynamic or self.overwrite.partitions is None:
            return live.slice(0, 0)
        replaced = filter_partitions(self.table, live, self.overwrite.partitions)["file_name"]
        return live.filter(pc.invert(pc.is_in(live["file_name"], value_set=replaced.combine_chunks())))

    @cached_property
    def sequences(self) -> Mapping[Target, int]:
        """The max sequence number by partition and bucket."""
        grouped = self.files.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
        return {(g["partition"], g["bucket"]): g["max_sequence_number_max"] for g in grouped.to_pylist()}

    @cached_property
    def bucket_numbers(self) -> Mapping[bytes, int]:
        """The number of buckets by partition, from its files; without partitions whose number is not fixed."""
        fixed = self.files.filter(pc.greater(self.files["total_buckets"], 0))
        grouped = fixed.group_by("partition").aggregate([("total_buckets", "max")])
        return {g["partition"]: g["total_buckets_max"] for g in grouped.to_pylist()}

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
            target: index if target in filled else index.emptied()
            for target, index in hash_indexes(self.table, self.snapshot).items()
            if target[0] not in overwritten
        }

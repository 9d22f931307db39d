"""Masked scans: Spark's own reader, for a filter above it that drops rows by a deletion mask (`DeletedRowFilter`).

The reader adds the position of each row, and a constant column by which the filter finds the bits of the file's masked
rows (`MaskColumn`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from paimon_sql.cache import Cache
from paimon_sql.format.schema.types import DataField
from paimon_sql.process import share
from paimon_sql.spark.conversion.types import FieldJson, StructJson, spark_struct, struct_of
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.catalyst import Attribute, Expression, InternalRow, StructType
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.rules.optimizer import invoked, object_literal
from paimon_sql.spark.scan.proxies.file_partitions import binary_rows, binary_values, int_rows
from paimon_sql.spark.scan.proxies.native import NativeScanProxy, is_vectorized, returns_batches
from paimon_sql.spark.scan.pushdown.inner_fields import Structs, with_structs
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.read.deletion_mask import DeletionMasks, MaskedSplit, mask_of, selects, size_of
from paimon_sql.storage.scan.plan import ScanPlan

POSITION: FieldJson = {"name": "_tmp_metadata_row_index", "type": "long", "nullable": True, "metadata": {}}
"""The column that Spark's Parquet reader fills with the position of each row in its file."""
_LIST = "java.util.concurrent.CopyOnWriteArrayList"
_MAX_ROWS = 1 << 29
"""Maximum rows in files with masked rows: their bits take 64 MiB on the driver."""
_FEW_BYTES = 64 * 1024 * 1024
"""Maximum bytes of files that the driver merges itself, which is then faster than a job."""
_THREADS = os.cpu_count() or 2
_MAX_CACHED_BYTES = 64 * 1024 * 1024
_merged_bits = share(lambda: Cache[tuple[object, ...], DeletionMasks](_MAX_CACHED_BYTES, weigh=size_of))
"""The bits of merged splits, by their identity; files never change."""


class DeletionMask:
    """The deletion mask of a plan's files.

    Args:
        jvm: the JVM.
        plan: the plan; its splits are raw, or merging them only selects rows.
        predicate: the condition of the scan; keys that it excludes need not be merged, and their rows are masked.
    """

    def __init__(self, jvm: Jvm, plan: ScanPlan, predicate: Predicate | None) -> None:
        self.jvm = jvm
        self._plan = plan
        on_key = conjuncts_on(predicate, plan.table.schema.trimmed_primary_keys)
        self._merging = [MaskedSplit(s.table or plan.table, s, on_key) for s in plan.splits if not s.raw]

    @cached_property
    def bits(self) -> dict[str, bytes]:
        """The bits of the files with masked rows, by path."""
        return self._deleted() | self._merged()

    @property
    def live_rows(self) -> int:
        """The number of live rows in the files."""
        rows = sum(f.row_count for split in self._plan.splits for f in split.files)
        return rows - sum(int.from_bytes(bits, "little").bit_count() for bits in self.bits.values())

    def _deleted(self) -> dict[str, bytes]:
        """The bits of the files that have a deletion vector and are not merged."""
        plan, found = self._plan, {}
        for split in filter(lambda s: s.raw, plan.splits):
            for f in split.files:
                if f.file_name in split.deletions:
                    path = plan.owner(split).locations.data_file(split.partition, split.bucket, f)
                    found[path] = split.deletions[f.file_name]
        io = plan.table.file_io
        bits = map_in_threads(lambda deletion: mask_of(deletion.read(io)), list(found.values()), _THREADS)
        return dict(zip(found, bits, strict=True))

    def _merged(self) -> dict[str, bytes]:
        """The bits of the files that are merged."""
        cache = _merged_bits()
        cached = [cache.get(merging.identity) for merging in self._merging]
        new = [merging for merging, bits in zip(self._merging, cached, strict=True) if bits is None]
        is_small = sum(merging.size for merging in new) <= _FEW_BYTES
        executor = LocalExecutor(_THREADS) if is_small else SparkExecutor(self.jvm)
        found = executor.map(MaskedSplit.masks, new)
        merged: dict[str, bytes] = {}
        for merging, bits in zip(self._merging, cached, strict=True):
            if bits is None:
                bits = next(found)
                if merging.on_key is None:
                    cache.put(merging.identity, bits)
            split, locations = merging.split, merging.table.locations
            merged |= {locations.data_file(split.partition, split.bucket, f): bits[f.file_name] for f in split.files}
        return merged


class MaskColumn(ABC):
    """The constant column of each file by which the filter finds the bits of its masked rows.

    Rows after the last bit are live.

    Attributes:
        field: the column.
        in_batches: whether it is for a reader that returns batches. The bits then follow from the column alone, so that
            all scans can share the filter's condition.
    """

    field: ClassVar[FieldJson]
    in_batches: ClassVar[bool]

    @abstractmethod
    def rows(self, mask: DeletionMask, paths: Sequence[str]) -> Sequence[InternalRow]:
        """An array with the row of each file's value.

        Args:
            mask: the mask of the files.
            paths: the paths of the files.
        """

    @abstractmethod
    def bits(self, jvm: Jvm, column: Attribute) -> Expression:
        """The bits, as a binary value, from the column."""


class BitsColumn(MaskColumn):
    """The bits themselves, so that only the tasks that read a file get them.

    A batch holds a constant once, but a reader that returns rows would copy the bits of a file into each of its rows.
    """

    field = {"name": "__paimon_dead_rows", "type": "binary", "nullable": False, "metadata": {}}
    in_batches = True

    def rows(self, mask: DeletionMask, paths: Sequence[str]) -> Sequence[InternalRow]:
        return binary_rows(mask.jvm, [mask.bits.get(path, b"") for path in paths])

    def bits(self, jvm: Jvm, column: Attribute) -> Expression:
        return column


@dataclass(frozen=True, eq=False)
class NumberColumn(MaskColumn):
    """The place of the bits in a list that is part of the filter, so that each task gets those of all files.

    The filter exists before the bits do: these are put into the list when Spark asks for the partitions, before it
    sends the filter to its tasks. Runtime filters may leave each run of the plan with other files, so the list has the
    bits of all.

    Attributes:
        mask: the mask of all files of the plan.
        found: the list, of Java.
    """

    field = {"name": "__paimon_dead_rows", "type": "integer", "nullable": False, "metadata": {}}
    in_batches = False
    mask: DeletionMask
    found: JavaObject

    def rows(self, mask: DeletionMask, paths: Sequence[str]) -> Sequence[InternalRow]:
        return int_rows(mask.jvm, [self._places.get(path, 0) for path in paths])

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place of each file's bits, once they are in the list; place 0 is that of the files without any."""
        jvm, bits = self.mask.jvm, {path: bits for path, bits in self.mask.bits.items() if bits}
        # Threads that come here at the same time add the same bits twice, and the first ones count.
        self.found.addAll(binary_values(jvm, [b"", *bits.values()]))
        return {path: place for place, path in enumerate(bits, 1)}

    def bits(self, jvm: Jvm, column: Attribute) -> Expression:
        return invoked(jvm, object_literal(jvm, self.found, _LIST), "get", "BinaryType", [column])


@dataclass(eq=False)
class MaskedScanProxy(NativeScanProxy):
    """A Parquet scan with two columns at the end: the row's position, and one that leads to the bits of its file.

    Attributes:
        predicate: see `DeletionMask`.
        mask_column: the latter column.
    """

    predicate: Predicate | None
    mask_column: MaskColumn

    @cached_property
    def _mask(self) -> DeletionMask:
        return DeletionMask(self.jvm, self.plan, self.predicate)

    def readSchema(self) -> StructType:
        return self.jvm.struct(_with_mask_columns(self.columns, self.structs, self.mask_column.field))

    @cached_property
    def _is_columnar(self) -> bool:
        return self.mask_column.in_batches

    def _constant_columns(self) -> StructType:
        return self.jvm.struct(struct_of([self.mask_column.field]))

    def _constants(self, paths: Sequence[str]) -> Sequence[InternalRow]:
        return self.mask_column.rows(self._mask, paths)


def mask_column(
    jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField], structs: Structs, predicate: Predicate | None
) -> MaskColumn:
    """The mask column of a scan, from whether Spark's reader returns batches of its columns, or rows.

    Args:
        jvm: the JVM.
        plan: the plan.
        fields: the columns.
        structs: see `NativeScanProxy`.
        predicate: see `DeletionMask`.
    """
    if returns_batches(jvm, jvm.struct(_with_mask_columns(fields, structs, BitsColumn.field))):
        return BitsColumn()
    return NumberColumn(DeletionMask(jvm, plan, predicate), jvm.new(_LIST))


def can_mask(jvm: Jvm, plan: ScanPlan, fields: Sequence[DataField]) -> bool:
    """Whether a plan has a deletion mask that Spark's reader can apply: it adds positions when it reads in batches."""
    return has_deletion_mask(plan) and is_vectorized(jvm, jvm.struct(_with_mask_columns(fields, {}, BitsColumn.field)))


def has_deletion_mask(plan: ScanPlan) -> bool:
    """Whether the rows of a plan are those of its files without masked ones, whose bits fit on the driver."""
    return plan.rows_to_mask <= _MAX_ROWS and all(s.raw or selects(s.table or plan.table, s) for s in plan.splits)


def _with_mask_columns(fields: Sequence[DataField], structs: Structs, column: FieldJson) -> StructJson:
    return struct_of([*with_structs(spark_struct(fields), structs)["fields"], POSITION, column])

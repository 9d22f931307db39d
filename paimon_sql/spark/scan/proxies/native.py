"""Native scan: Spark's own Parquet reader over planned files.

Python plans the files and byte ranges of each partition; reading, decoding and filtering stay in the JVM, columnar and
compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.catalyst import Expression, InternalRow, StructType
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, DATASOURCES, EXECUTION, OPTIONS_MAP, Jvm
from paimon_sql.spark.jvm.hadoop_files import file_index, hadoop_settings
from paimon_sql.spark.jvm.session import with_settings
from paimon_sql.spark.scan.proxies.file_partitions import file_partitions, partitioned_files
from paimon_sql.spark.scan.proxies.planned import INPUT_PARTITION, PlannedScanProxy
from paimon_sql.spark.scan.pushdown.inner_fields import Structs, with_structs
from paimon_sql.spark.scan.reporting.partition_keys import FILES, Key, PartitionKeys
from paimon_sql.storage.scan.plan import PlannedRange
from paimon_sql.storage.scan.split import Split

_ROW = f"{CATALYST}.InternalRow"
_IN_ROWS = {"spark.sql.codegen.wholeStage": "false"}
_IN_BATCHES = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.maxFields": str(2**31 - 1),
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "true",
}


@dataclass(eq=False)
class NativeScanProxy(PlannedScanProxy):
    """A Parquet scan over the file ranges of a plan; the columns are read by name.

    Attributes:
        filters: Catalyst expressions by which the reader may skip row groups and pages.
        structs: the structs that replace variants of which only some values are requested.
    """

    filters: Seq[Expression] | None
    structs: Structs

    @property
    def partition_count(self) -> int:
        return len(self._ranges)

    @cached_property
    def _ranges(self) -> list[list[PlannedRange]]:
        return self.plan.file_ranges(self.jvm.parallelism)

    def readSchema(self) -> StructType:
        return self.jvm.struct(with_structs(spark_struct(self.columns), self.structs))

    # Both are cached: Spark plans a query more than once, and each reader factory broadcasts Hadoop's configuration.

    def planInputPartitions(self) -> Sequence[JavaObject]:
        return self._input_partitions

    def createReaderFactory(self) -> JavaObject:
        return self._reader_factory

    def columnarSupportMode(self) -> JavaObject:
        if self.is_stream:
            return super().columnarSupportMode()
        # Otherwise Spark would ask for the partitions during planning, and EXPLAIN would read what only they need.
        mode = "SUPPORTED" if self._is_columnar else "UNSUPPORTED"
        return self.jvm.enum(f"{CONNECTOR}.read.Scan$ColumnarSupportMode", mode)

    @cached_property
    def _is_columnar(self) -> bool:
        """Whether rows come in columnar batches, decided without a reader factory, which only running scans make."""
        return returns_batches(self.jvm, self.readSchema())

    @cached_property
    def _input_partitions(self) -> Sequence[JavaObject]:
        if self.keys is not None:
            return self.jvm.array(INPUT_PARTITION, self._keyed_partitions(self.keys))
        files = self._files([r for ranges in self._ranges for r in ranges])
        return file_partitions(self.jvm, files, list(map(len, self._ranges)))

    def _keyed_partitions(self, keys: PartitionKeys) -> list[JavaObject]:
        plan, rows = self.plan, keys.rows(self.plan)
        if keys.in_order:
            each = enumerate(plan.splits)
            return [FILES.make(self.jvm, rows[keys.of(s)], i, self._files(plan.ranges_of(s))) for i, s in each]
        by_key: dict[Key, list[Split]] = {}
        for split in plan.splits:
            by_key.setdefault(keys.of(split), []).append(split)
        packed = [(rows[key], r) for key, splits in by_key.items() for r in plan.file_ranges(1, splits)]
        return [FILES.make(self.jvm, row, i, self._files(ranges)) for i, (row, ranges) in enumerate(packed)]

    @cached_property
    def _reader_factory(self) -> JavaObject:
        factory: JavaObject = self._parquet_scan().createReaderFactory()
        if bool(factory.supportColumnarReads(None)) != self._is_columnar:
            # The session's settings have changed since Spark planned for batches, or for rows.
            planned = _IN_BATCHES if self._is_columnar else _IN_ROWS
            factory = with_settings(self.jvm, planned, lambda: self._parquet_scan().createReaderFactory())
        return factory

    def _constants(self, paths: Sequence[str]) -> Sequence[InternalRow]:
        """An array with the row of each file's constant values, or with one row for all files."""
        jvm = self.jvm
        return jvm.constant("array of an empty row", lambda: jvm.array(_ROW, [jvm.singleton(_ROW).empty()]))

    def _constant_columns(self) -> StructType:
        """The columns that are constant per file, as a struct."""
        return self.jvm.struct(spark_struct(()))

    def _files(self, ranges: Sequence[PlannedRange]) -> Sequence[JavaObject]:
        return partitioned_files(self.jvm, ranges, self._constants)

    def _parquet_scan(self) -> JavaObject:
        jvm, struct = self.jvm, self.readSchema()
        constant = jvm.new(f"{DATASOURCES}.PartitionSpec", self._constant_columns(), jvm.nil)
        index = file_index(self.session, jvm.nil, jvm.empty_map(), constant)
        # Options of a scan override Hadoop's configuration for this scan only.
        settings = hadoop_settings(self.plan.table.file_io.options, self.plan.stores)
        made = partial(jvm.new, OPTIONS_MAP)
        options = (
            made(jvm.java_map(settings)) if settings else jvm.constant("no options", lambda: made(jvm.java_map({})))
        )
        builder = jvm.new(
            f"{DATASOURCES}.v2.parquet.ParquetScanBuilder", self.session.java, index, struct, struct, options
        )
        if self.filters is not None:
            builder.pushFilters(self.filters)
        return builder.build()


def is_vectorized(jvm: Jvm, struct: StructType) -> bool:
    """Whether Spark's Parquet reader decodes the columns of a struct in batches, by the settings of this thread."""
    return bool(
        jvm.singleton(f"{DATASOURCES}.parquet.ParquetUtils").isBatchReadSupportedForSchema(jvm.settings, struct)
    )


def returns_batches(jvm: Jvm, struct: StructType) -> bool:
    """Whether that reader returns the batches as well; otherwise it copies each row out of them."""
    settings = jvm.settings
    if not settings.wholeStageEnabled() or not is_vectorized(jvm, struct):
        return False
    return not jvm.singleton(f"{EXECUTION}.WholeStageCodegenExec").isTooManyFields(settings, struct)

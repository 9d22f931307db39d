"""Distribution of rows by bucket in Spark, also of cross-partition updates: one task of a job writes each bucket.

The rows are computed once and stored on the executors' disks, since they are used twice: to select the relevant keys of
the table, and to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import arrow_udf, col, lit, monotonically_increasing_id, pmod
from pyspark.sql.functions import hash as spark_hash
from pyspark.sql.types import BinaryType, ByteType, IntegerType, StructField, StructType

from paimon_sql.format.options.table.partition import PARTITION_SINK_STRATEGY
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET, VALUE_KIND
from paimon_sql.spark.conversion.rows import cast_back
from paimon_sql.spark.execution.distribute import map_in_arrow
from paimon_sql.spark.execution.executor import hide_traceback
from paimon_sql.spark.write.exchange import Batches, arrived, exchange
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.columns.defaults import default_scalars, fill_defaults
from paimon_sql.storage.table.partitions import conform_batch
from paimon_sql.storage.write.buckets.assignment.relocation import (
    KEY,
    KEY_LOCATION_SCHEMA,
    OLD_BUCKET,
    OLD_PARTITION,
    key_bytes,
)
from paimon_sql.storage.write.buckets.base import bucket_mode
from paimon_sql.storage.write.buckets.modes.dynamic import assigner_count
from paimon_sql.storage.write.clustering.clustering import ClusteredWriteTask, row_layout
from paimon_sql.storage.write.distribution import Numbers, Places, Relocate, merged_locally, merges_locally
from paimon_sql.storage.write.task import WriteTask

R = TypeVar("R")
_ORDER = "_ORDER"
_BUCKET = StructField(BUCKET.name, IntegerType())
_LOCATIONS = StructType(
    [StructField(KEY, BinaryType()), StructField(OLD_PARTITION, BinaryType()), StructField(OLD_BUCKET, IntegerType())]
)


def _as_given(batches: Batches) -> Batches:
    return batches


@dataclass(frozen=True)
class DistributedFrame:
    """The rows of a write as a data frame, for `WriteTask.distributed`.

    Attributes:
        task: the task of the writers.
        frame: what each task gets from Spark: the rows, with the table's column names, optionally followed by the row
            kind, or what an exchange brought.
        struct: the rows' columns in Spark.
        rows_of: computes the rows of a task from what it gets.
    """

    task: WriteTask
    frame: DataFrame
    struct: StructType
    rows_of: Callable[[Batches], Batches] = _as_given

    @property
    def tasks(self) -> int:
        return int(self.frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or "2")

    @property
    def parallelism(self) -> int:
        return int(self.frame.sparkSession.sparkContext.defaultParallelism)

    def in_one_task(self) -> DistributedFrame:
        return replace(self, frame=self.frame.coalesce(1))

    def merged_locally(self) -> DistributedFrame:
        """The rows with their kind as last column; unchanged if the table does not merge locally."""
        task, names = self.task, self.task.table.schema.names
        if not merges_locally(task.table):
            return self

        def merge(batches: Batches) -> Batches:
            types: dict[str, pa.DataType] = {}

            with hide_traceback():
                for rows in merged_locally(task.table, task.prepared(_recorded(batches, types))):
                    yield cast_back(rows.select([*names, VALUE_KIND.name]), types)

        return replace(self._then(merge), struct=self._struct())

    def exchanged(
        self, tasks: int, columns: Sequence[str], owners: Callable[[pa.RecordBatch], Numbers]
    ) -> DistributedFrame:
        conform = conformer(self.task.table.schema, columns)

        def owners_of(batch: pa.RecordBatch) -> Numbers:
            return owners(conform([batch.column(name) for name in columns]))

        return replace(self, frame=exchange(self.frame, self.rows_of, tasks, owners_of), rows_of=arrived)

    def assigned(self, columns: Sequence[str], assign: Callable[[pa.RecordBatch], Numbers]) -> DistributedFrame:
        conform = conformer(self.task.table.schema, columns)

        def with_bucket(batches: Batches) -> Batches:
            for batch in batches:
                buckets = assign(conform([batch.column(name) for name in columns]))
                yield batch.append_column(BUCKET.name, pa.array(buckets, arrow_type(BUCKET.type)))

        return replace(self._then(with_bucket), struct=StructType([*self.struct, _BUCKET]))

    def relocated(self, places: Sequence[Places], relocate: Relocate) -> DistributedFrame:
        """The rows with their kinds and the partitions to write them to; their buckets are in ``_BUCKET``.

        Args:
            places: read the locations of existing keys.
            relocate: relocates the rows of an assigner partition.
        """
        task, schema = self.task, self.task.table.schema
        frame = self.frame if self.rows_of is _as_given else map_in_arrow(self.frame, self.rows_of, self.struct)
        count = assigner_count(task.table, self.parallelism)
        key = column_of(schema, schema.primary_keys, lambda batch: key_bytes(schema, batch), "binary")
        keyed = frame.withColumn(KEY, key).withColumn(_ORDER, monotonically_increasing_id())
        if places:
            keyed = keyed.localCheckpoint(True, StorageLevel.DISK_ONLY)
            keys = keyed.select(KEY).distinct()
            keyed = keyed.join(_key_locations(places, frame).join(keys, KEY, "left_semi"), KEY, "left")
        else:
            keyed = keyed.select("*", *(lit(None).cast(f.dataType).alias(f.name) for f in _LOCATIONS.fields[1:]))
        by_key = keyed.repartitionById(count, pmod(spark_hash(col(KEY)), lit(count))).sortWithinPartitions(KEY, _ORDER)
        struct = self._struct(_BUCKET)
        relocated_rows = map_in_arrow(by_key, _relocator(task, relocate, count), struct)
        return replace(self, frame=relocated_rows, struct=struct, rows_of=_as_given)

    def worker(self, work: Callable[[Batches], R]) -> Callable[[Iterable[pa.RecordBatch]], R]:
        """A function of the rows of a task as one of what it gets from Spark."""
        rows_of = self.rows_of
        return lambda batches: work(rows_of(iter(batches)))

    def _then(self, function: Callable[[Batches], Batches]) -> DistributedFrame:
        """The rows that a function makes of those of each task."""
        rows_of = self.rows_of
        return replace(self, rows_of=lambda batches: function(rows_of(batches)))

    def _struct(self, *more: StructField) -> StructType:
        """The table's columns and the row kind."""
        # Old partition values may be NULL even if no new row's are; a non-nullable column would turn NULL into a value.
        fields = [StructField(name, self.struct[name].dataType) for name in self.task.table.schema.names]
        return StructType([*fields, StructField(VALUE_KIND.name, ByteType()), *more])


def distributed(task: WriteTask, frame: DataFrame) -> tuple[WriteTask, DistributedFrame]:
    """Distribute rows so that one task writes each bucket; return the task to run on each part of the rows.

    Args:
        task: the task of the writers.
        frame: the rows, with the table's column names, optionally followed by the row kind.
    """
    return task.distributed(DistributedFrame(task, frame, frame.schema))


def in_one_task(task: WriteTask, frame: DataFrame) -> tuple[WriteTask, DistributedFrame]:
    """The rows in one part, for a single writer; arguments and result as of `distributed`."""
    return task, DistributedFrame(task, frame.coalesce(1), frame.schema)


def in_ranges(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch write, partitioned by ranges of the clustering columns if the task clusters in their order.

    Spark has no ranges of a curve (z-order, Hilbert). Streams are excluded since Spark reads rows twice to find ranges.
    """
    if not isinstance(task, ClusteredWriteTask) or not row_layout(task.layout.strategy).has_ranges:
        return frame
    return frame.repartitionByRange(*(col(quote_name(name)) for name in task.layout.columns))


def in_partitions(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch write, distributed by partition if the table's options require it and no bucket does."""
    schema = task.table.schema
    is_disabled = task.table.options.get(PARTITION_SINK_STRATEGY) == "NONE"
    if is_disabled or not schema.partition_keys or not bucket_mode(schema).is_shared:
        return frame
    return frame.repartition(*(col(quote_name(name)) for name in schema.partition_keys))


def column_of(
    schema: TableSchema, names: Sequence[str], function: Callable[[pa.RecordBatch], pa.Array], spark_type: str
) -> Column:
    """A column computed by a function from some columns of each batch, in the table's types."""
    conform = conformer(schema, names)

    def evaluate(*columns: pa.Array) -> pa.Array:
        return function(conform(columns))

    return arrow_udf(evaluate, spark_type)(*(col(quote_name(n)) for n in names))


def conformer(schema: TableSchema, names: Sequence[str]) -> Callable[[Sequence[pa.Array]], pa.RecordBatch]:
    """A function that converts columns to the table's types and fills in defaults, as the writer does."""
    types = {f.name: arrow_type(f.type) for f in schema.fields} | {BUCKET.name: arrow_type(BUCKET.type)}
    target = pa.schema([pa.field(n, types[n]) for n in names])
    defaults = {n: v for n, v in default_scalars(schema.fields).items() if n in names}

    def conform(columns: Sequence[pa.Array]) -> pa.RecordBatch:
        batch = conform_batch(pa.RecordBatch.from_arrays(list(columns), names=list(names)), target)
        return fill_defaults(batch, defaults) if defaults else batch

    return conform


def _key_locations(places: Sequence[Places], frame: DataFrame) -> DataFrame:
    """All keys of the table with their partitions and buckets."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from places[number]()

    numbers = frame.sparkSession.range(0, len(places), 1, len(places))
    return numbers.mapInArrow(read, _LOCATIONS)


def _recorded(batches: Iterable[pa.RecordBatch], types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    """The batches; the types of their columns are added to `types`."""
    for batch in batches:
        types.update({f.name: f.type for f in batch.schema})
        yield batch


def _relocator(
    task: WriteTask, relocate: Relocate, assigners: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = task.table.schema

    def relocated_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        types: dict[str, pa.DataType] = {}

        def prepared() -> Iterator[pa.RecordBatch]:
            for batch in _recorded(batches, types):
                names = [n for n in (*schema.names, VALUE_KIND.name) if n in types]
                (rows,) = task.prepared([batch.select(names)])
                for field in KEY_LOCATION_SCHEMA:
                    rows = rows.append_column(field.name, batch.column(field.name).cast(field.type))
                yield rows

        for rows in relocate(context.partitionId() if context else 0, assigners, prepared()):
            yield cast_back(rows, types)

    return relocated_rows

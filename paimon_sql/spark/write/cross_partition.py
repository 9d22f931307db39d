"""Cross-partition updates: rows are joined with the table's keys, then relocated per assigner partition.

The rows are computed once and stored on the executors' disks, since they are used twice: to select the relevant keys of
the table, and to be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit, monotonically_increasing_id, pmod
from pyspark.sql.functions import hash as spark_hash
from pyspark.sql.types import BinaryType, ByteType, IntegerType, StructField, StructType

from paimon_sql.format.schema.system_fields import BUCKET, VALUE_KIND
from paimon_sql.spark.conversion.arrow_types import cast_back
from paimon_sql.spark.execution.arrow_batches import map_in_arrow
from paimon_sql.spark.write.table_columns import column_of
from paimon_sql.storage.write.buckets.assignment.key_locations import (
    KEY,
    KEY_LOCATION_SCHEMA,
    OLD_BUCKET,
    OLD_PARTITION,
    key_bytes,
)
from paimon_sql.storage.write.buckets.modes.cross_partition import CrossPartitionTask
from paimon_sql.storage.write.buckets.modes.dynamic import assigner_count

_ORDER = "_ORDER"
_LOCATIONS = StructType(
    [StructField(KEY, BinaryType()), StructField(OLD_PARTITION, BinaryType()), StructField(OLD_BUCKET, IntegerType())]
)


def relocated(task: CrossPartitionTask, frame: DataFrame) -> DataFrame:
    """The rows with their kinds and the partitions to write them to; their buckets are in ``_BUCKET``.

    Args:
        task: the write.
        frame: the rows, with the table's column names, optionally followed by the row kind.
    """
    schema = task.table.schema
    count = assigner_count(task.table, frame.sparkSession.sparkContext.defaultParallelism)
    key = column_of(schema, schema.primary_keys, lambda batch: key_bytes(schema, batch), "binary")
    keyed = frame.withColumn(KEY, key).withColumn(_ORDER, monotonically_increasing_id())
    if task.key_location_tasks:
        keyed = keyed.localCheckpoint(True, StorageLevel.DISK_ONLY)
        keys = keyed.select(KEY).distinct()
        keyed = keyed.join(_key_locations(task, frame).join(keys, KEY, "left_semi"), KEY, "left")
    else:
        keyed = keyed.select("*", *(lit(None).cast(f.dataType).alias(f.name) for f in _LOCATIONS.fields[1:]))
    by_key = keyed.repartitionById(count, pmod(spark_hash(col(KEY)), lit(count))).sortWithinPartitions(KEY, _ORDER)
    # Old partition values may be NULL even if no new row's are; a non-nullable column would turn NULL into a value.
    fields = [StructField(f.name, f.dataType) for f in (frame.schema[name] for name in schema.names)]
    struct = StructType([*fields, StructField(VALUE_KIND.name, ByteType()), StructField(BUCKET.name, IntegerType())])
    return map_in_arrow(by_key, _relocator(task, count), struct)


def _key_locations(task: CrossPartitionTask, frame: DataFrame) -> DataFrame:
    """All keys of the table with their partitions and buckets."""
    tasks = task.key_location_tasks

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from tasks[number].batches()

    numbers = frame.sparkSession.range(0, len(tasks), 1, len(tasks))
    return numbers.mapInArrow(read, _LOCATIONS)


def _relocator(task: CrossPartitionTask, assigners: int) -> Any:
    schema = task.table.schema

    def relocate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        relocator = task.relocator(context.partitionId() if context else 0, assigners)
        types: dict[str, pa.DataType] = {}

        def prepared() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                types.update({f.name: f.type for f in batch.schema})
                names = [n for n in (*schema.names, VALUE_KIND.name) if n in types]
                (rows,) = task.prepared([batch.select(names)])
                for field in KEY_LOCATION_SCHEMA:
                    rows = rows.append_column(field.name, batch.column(field.name).cast(field.type))
                yield rows

        for rows in relocator.relocate(prepared()):
            yield cast_back(rows, types)

    return relocate

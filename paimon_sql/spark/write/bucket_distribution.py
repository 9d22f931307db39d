"""Rows brought to their owners: each partition and bucket is written by one task of a job.

How that is done depends on the bucket mode: one exchange where a row tells its bucket, two where assigners must first
see all rows of a key's lane.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatch

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import arrow_udf, col
from pyspark.sql.types import ByteType, StructField, StructType

from paimon_sql.format.options.table.partition import PARTITION_SINK_STRATEGY
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET, VALUE_KIND
from paimon_sql.spark.conversion.arrow_types import returned
from paimon_sql.spark.execution.arrow_batches import map_in_arrow
from paimon_sql.spark.execution.worker_errors import one_message
from paimon_sql.spark.write.key_moves import relocated
from paimon_sql.spark.write.table_columns import column_of, conformer, quoted
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.write.buckets.assignment.hash_assigner import HashAssigner, assigner_partition_of, key_hashes
from paimon_sql.storage.write.buckets.clustered import ClusteredWriteTask
from paimon_sql.storage.write.buckets.modes.cross_partition import CrossPartitionTask
from paimon_sql.storage.write.buckets.modes.dynamic import DynamicTask, assigner_count
from paimon_sql.storage.write.buckets.modes.fixed import FixedTask
from paimon_sql.storage.write.buckets.modes.postpone import DefaultNumberTask, StagedTask
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.clustering.orders.lexicographic import Plain
from paimon_sql.storage.write.local_merge import merged_locally, merges_locally
from paimon_sql.storage.write.task import WriteTask


def locally_merged(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows, or fewer with their kinds behind them that come to the same.

    Args:
        task: what writers do with the rows afterwards.
        frame: the rows, named as the table's columns, perhaps with their kind behind them.
    """
    table = task.table
    if not merges_locally(table):
        return frame
    names = table.schema.names

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types: dict[str, pa.DataType] = {}

        def seen() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                types.update({f.name: f.type for f in batch.schema})
                yield batch

        with one_message():
            for rows in merged_locally(table, task.prepared(seen())):
                yield returned(rows.select([*names, VALUE_KIND.name]), types)

    fields = [StructField(f.name, f.dataType) for f in (frame.schema[name] for name in names)]
    return map_in_arrow(frame, merge, StructType([*fields, StructField(VALUE_KIND.name, ByteType())]))


Owners = npt.NDArray[np.int32]


def in_ranges(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch, those of near values together if the task lays rows out by columns one after the other.

    A curve has no ranges that Spark knows of. To find ranges Spark reads the rows twice, which a stream does not bear.
    """
    if not isinstance(task, ClusteredWriteTask) or task.layout.strategy != Plain.name:
        return frame
    return frame.repartitionByRange(*(col(quoted(name)) for name in task.layout.columns))


def in_partitions(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch, those of a partition together if the table asks for that and no buckets do so."""
    schema = task.table.schema
    apart = task.table.options.get(PARTITION_SINK_STRATEGY) == "NONE"
    if apart or not schema.partition_keys or not bucket_mode(schema).is_shared:
        return frame
    return frame.repartition(*(col(quoted(name)) for name in schema.partition_keys))


@singledispatch
def distribute_by_bucket(task: WriteTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    """The rows where the task can run on each partition of the frame, and the task that does so.

    Args:
        task: what writers do.
        frame: the rows, named as the table's columns, perhaps with their kind behind them.
    """
    return task, frame


@distribute_by_bucket.register
def _(task: FixedTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    return _by_bucket(task, task.router(), frame)


@distribute_by_bucket.register
def _(task: DynamicTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    schema = task.table.schema
    lanes = assigner_count(task.table, frame.sparkSession.sparkContext.defaultParallelism)
    task = replace(task, lanes=lanes)
    router = Router(schema, 1)
    names = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys]))

    def assigner_owners(batch: pa.RecordBatch) -> Owners:
        return bucket_owners(router, batch, assigner_partition_of(key_hashes(schema, batch), lanes), lanes)

    by_lane = locally_merged(task, frame).repartitionById(lanes, _owner_column(schema, names, assigner_owners))
    if not task.index:
        return task, by_lane  # nothing stands in a bucket of another lane, so a lane's task owns its buckets
    assigned = by_lane.withColumn(BUCKET.name, _assigned(task.assigner(), schema, names))
    tasks = _tasks(frame)

    def owners(batch: pa.RecordBatch) -> Owners:
        return bucket_owners(router, batch, batch.column(BUCKET.name).to_numpy(), tasks)

    places = (*schema.partition_keys, BUCKET.name)
    return replace(task, assigned=True), assigned.repartitionById(tasks, _owner_column(schema, places, owners))


@distribute_by_bucket.register
def _(task: StagedTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    return task.staged(), frame


@distribute_by_bucket.register
def _(task: DefaultNumberTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    return _by_bucket(task, task.router(), frame)


def _by_bucket(task: WriteTask, router: Router, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    """One exchange, for every partition has the router's number of buckets."""
    schema, tasks = router.schema, _tasks(frame)
    if not schema.partition_keys:
        tasks = min(tasks, router.buckets)
    if tasks == 1:
        return task, frame.coalesce(1)

    def owners(batch: pa.RecordBatch) -> Owners:
        return bucket_owners(router, batch, router.buckets_of(batch), tasks)

    names = tuple(dict.fromkeys([*schema.partition_keys, *schema.bucket_keys]))
    return task, locally_merged(task, frame).repartitionById(tasks, _owner_column(schema, names, owners))


@distribute_by_bucket.register
def _(task: CrossPartitionTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    schema, router, tasks = task.table.schema, Router(task.table.schema, 1), _tasks(frame)

    def owners(batch: pa.RecordBatch) -> Owners:
        return bucket_owners(router, batch, batch.column(BUCKET.name).to_numpy(), tasks)

    places = (*schema.partition_keys, BUCKET.name)
    rows = relocated(task, frame)
    return task.relocated(), rows.repartitionById(tasks, _owner_column(schema, places, owners))


def bucket_owners(
    router: Router, batch: pa.RecordBatch, buckets: npt.NDArray[np.integer], tasks: int
) -> npt.NDArray[np.int32]:
    """The task of each row: buckets of a partition follow one another, beginning anywhere."""
    partitions, codes = router.partitions_of(batch)
    seeds = np.array([zlib.crc32(p) for p in partitions], dtype=np.int64)
    return ((seeds[codes] + buckets) % tasks).astype(np.int32)


def _owner_column(schema: TableSchema, names: Sequence[str], owners: Callable[[pa.RecordBatch], Owners]) -> Column:
    return column_of(schema, names, lambda batch: pa.array(owners(batch)), "int")


def _assigned(assigner: HashAssigner, schema: TableSchema, names: Sequence[str]) -> Column:
    conform = conformer(schema, names)

    def assign(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for columns in batches:
            given = columns if isinstance(columns, tuple) else (columns,)
            yield pa.array(assigner.assign(conform(given)))

    # An assigner remembers what it gave, so that Spark must not call it twice for a row.
    return arrow_udf(assign, "int").asNondeterministic()(*(col(quoted(n)) for n in names))


def _tasks(frame: DataFrame) -> int:
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or "2")

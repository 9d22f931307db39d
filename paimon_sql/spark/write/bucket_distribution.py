"""Distribution of rows by bucket: each partition and bucket is written by one task of a job.

This needs one exchange if the bucket follows from the row, and two in the dynamic bucket mode: an assigner must see all
rows of its assigner partition first.
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
from paimon_sql.spark.conversion.arrow_types import cast_back
from paimon_sql.spark.execution.arrow_batches import map_in_arrow
from paimon_sql.spark.execution.worker_errors import hide_traceback
from paimon_sql.spark.write.cross_partition import relocated
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
    """Merge rows by key before the exchange (Paimon: `local-merge-buffer-size`).

    Returns an equivalent frame with the row kind as last column; the same frame if the table does not merge locally.

    Args:
        task: the task of the writers.
        frame: the rows, with the table's column names, optionally followed by the row kind.
    """
    table = task.table
    if not merges_locally(table):
        return frame
    names = table.schema.names

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types: dict[str, pa.DataType] = {}

        def recorded() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                types.update({f.name: f.type for f in batch.schema})
                yield batch

        with hide_traceback():
            for rows in merged_locally(table, task.prepared(recorded())):
                yield cast_back(rows.select([*names, VALUE_KIND.name]), types)

    fields = [StructField(f.name, f.dataType) for f in (frame.schema[name] for name in names)]
    return map_in_arrow(frame, merge, StructType([*fields, StructField(VALUE_KIND.name, ByteType())]))


Owners = npt.NDArray[np.int32]


def in_ranges(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch write, partitioned by ranges of the clustering columns if the task clusters in their order.

    Spark has no ranges of a curve (z-order, Hilbert). Streams are excluded since Spark reads rows twice to find ranges.
    """
    if not isinstance(task, ClusteredWriteTask) or task.layout.strategy != Plain.name:
        return frame
    return frame.repartitionByRange(*(col(quoted(name)) for name in task.layout.columns))


def in_partitions(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch write, distributed by partition if the table's options require it and no bucket does."""
    schema = task.table.schema
    is_disabled = task.table.options.get(PARTITION_SINK_STRATEGY) == "NONE"
    if is_disabled or not schema.partition_keys or not bucket_mode(schema).is_shared:
        return frame
    return frame.repartition(*(col(quoted(name)) for name in schema.partition_keys))


@singledispatch
def distribute_by_bucket(task: WriteTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    """Distribute rows so that one task writes each bucket; return the task to run per partition of the frame.

    Args:
        task: the task of the writers.
        frame: the rows, with the table's column names, optionally followed by the row kind.
    """
    return task, frame


@distribute_by_bucket.register
def _(task: FixedTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    return _by_bucket(task, task.router(), frame)


@distribute_by_bucket.register
def _(task: DynamicTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    schema = task.table.schema
    assigners = assigner_count(task.table, frame.sparkSession.sparkContext.defaultParallelism)
    task = replace(task, lanes=assigners)
    router = Router(schema, 1)
    names = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys]))

    def assigner_owners(batch: pa.RecordBatch) -> Owners:
        return bucket_owners(router, batch, assigner_partition_of(key_hashes(schema, batch), assigners), assigners)

    by_assigner = locally_merged(task, frame).repartitionById(assigners, _owner_column(schema, names, assigner_owners))
    if not task.index:
        return task, by_assigner  # no key is in a bucket of another assigner yet, so each task owns its buckets
    assigned = by_assigner.withColumn(BUCKET.name, _assigned(task.assigner(), schema, names))
    tasks = _tasks(frame)

    def owners(batch: pa.RecordBatch) -> Owners:
        return bucket_owners(router, batch, batch.column(BUCKET.name).to_numpy(), tasks)

    columns = (*schema.partition_keys, BUCKET.name)
    return replace(task, assigned=True), assigned.repartitionById(tasks, _owner_column(schema, columns, owners))


@distribute_by_bucket.register
def _(task: StagedTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    return task.staged(), frame


@distribute_by_bucket.register
def _(task: DefaultNumberTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    return _by_bucket(task, task.router(), frame)


def _by_bucket(task: WriteTask, router: Router, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    """Distribute rows by one exchange: each partition has the router's number of buckets."""
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

    columns = (*schema.partition_keys, BUCKET.name)
    rows = relocated(task, frame)
    return task.relocated(), rows.repartitionById(tasks, _owner_column(schema, columns, owners))


def bucket_owners(
    router: Router, batch: pa.RecordBatch, buckets: npt.NDArray[np.integer], tasks: int
) -> npt.NDArray[np.int32]:
    """The task of each row: consecutive buckets of a partition have consecutive tasks, from a hash of the partition."""
    partitions, codes = router.partitions_of(batch)
    seeds = np.array([zlib.crc32(p) for p in partitions], dtype=np.int64)
    return ((seeds[codes] + buckets) % tasks).astype(np.int32)


def _owner_column(schema: TableSchema, names: Sequence[str], owners: Callable[[pa.RecordBatch], Owners]) -> Column:
    return column_of(schema, names, lambda batch: pa.array(owners(batch)), "int")


def _assigned(assigner: HashAssigner, schema: TableSchema, names: Sequence[str]) -> Column:
    conform = conformer(schema, names)

    def assign(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for batch in batches:
            columns = batch if isinstance(batch, tuple) else (batch,)
            yield pa.array(assigner.assign(conform(columns)))

    # An assigner has state, so Spark must not call it twice for a row.
    return arrow_udf(assign, "int").asNondeterministic()(*(col(quoted(n)) for n in names))


def _tasks(frame: DataFrame) -> int:
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or "2")

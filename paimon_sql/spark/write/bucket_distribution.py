"""Distribution of rows by bucket in Spark: each partition and bucket is written by one task of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf, col
from pyspark.sql.types import ByteType, StructField, StructType

from paimon_sql.format.options.table.partition import PARTITION_SINK_STRATEGY
from paimon_sql.format.schema.system_fields import BUCKET, VALUE_KIND
from paimon_sql.spark.conversion.arrow_types import cast_back
from paimon_sql.spark.execution.arrow_batches import map_in_arrow
from paimon_sql.spark.execution.worker_errors import hide_traceback
from paimon_sql.spark.write.cross_partition import relocated
from paimon_sql.spark.write.table_columns import column_of, conformer, quoted
from paimon_sql.storage.write.buckets.clustered import ClusteredWriteTask
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.clustering.registry import row_layout
from paimon_sql.storage.write.distribution import Numbers, Places, Relocate
from paimon_sql.storage.write.local_merge import merged_locally, merges_locally
from paimon_sql.storage.write.task import WriteTask


@dataclass(frozen=True)
class DistributedFrame:
    """The rows of a write as a data frame, for `WriteTask.distributed`.

    Attributes:
        task: the task of the writers.
        frame: the rows, with the table's column names, optionally followed by the row kind.
    """

    task: WriteTask
    frame: DataFrame

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

        def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            types: dict[str, pa.DataType] = {}

            def recorded() -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    types.update({f.name: f.type for f in batch.schema})
                    yield batch

            with hide_traceback():
                for rows in merged_locally(task.table, task.prepared(recorded())):
                    yield cast_back(rows.select([*names, VALUE_KIND.name]), types)

        fields = [StructField(f.name, f.dataType) for f in (self.frame.schema[name] for name in names)]
        struct = StructType([*fields, StructField(VALUE_KIND.name, ByteType())])
        return replace(self, frame=map_in_arrow(self.frame, merge, struct))

    def exchanged(
        self, tasks: int, columns: Sequence[str], owners: Callable[[pa.RecordBatch], Numbers]
    ) -> DistributedFrame:
        owner = column_of(self.task.table.schema, columns, lambda batch: pa.array(owners(batch)), "int")
        return replace(self, frame=self.frame.repartitionById(tasks, owner))

    def assigned(self, columns: Sequence[str], assign: Callable[[pa.RecordBatch], Numbers]) -> DistributedFrame:
        conform = conformer(self.task.table.schema, columns)

        def bucket_of(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
            for batch in batches:
                yield pa.array(assign(conform(batch if isinstance(batch, tuple) else (batch,))))

        # An assigner has state, so Spark must not call it twice for a row.
        bucket = arrow_udf(bucket_of, "int").asNondeterministic()(*(col(quoted(name)) for name in columns))
        return replace(self, frame=self.frame.withColumn(BUCKET.name, bucket))

    def relocated(self, places: Sequence[Places], relocate: Relocate) -> DistributedFrame:
        return replace(self, frame=relocated(self.task, self.frame, places, relocate))


def distributed(task: WriteTask, frame: DataFrame) -> tuple[WriteTask, DataFrame]:
    """Distribute rows so that one task writes each bucket; return the task to run per partition of the frame.

    Args:
        task: the task of the writers.
        frame: the rows, with the table's column names, optionally followed by the row kind.
    """
    writer, rows = task.distributed(DistributedFrame(task, frame))
    return writer, rows.frame


def in_ranges(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch write, partitioned by ranges of the clustering columns if the task clusters in their order.

    Spark has no ranges of a curve (z-order, Hilbert). Streams are excluded since Spark reads rows twice to find ranges.
    """
    if not isinstance(task, ClusteredWriteTask) or not row_layout(task.layout.strategy).has_ranges:
        return frame
    return frame.repartitionByRange(*(col(quoted(name)) for name in task.layout.columns))


def in_partitions(task: WriteTask, frame: DataFrame) -> DataFrame:
    """The rows of a batch write, distributed by partition if the table's options require it and no bucket does."""
    schema = task.table.schema
    is_disabled = task.table.options.get(PARTITION_SINK_STRATEGY) == "NONE"
    if is_disabled or not schema.partition_keys or not bucket_mode(schema).is_shared:
        return frame
    return frame.repartition(*(col(quoted(name)) for name in schema.partition_keys))

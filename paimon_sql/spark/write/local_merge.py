"""A frame's rows merged by key in each task before they are exchanged, where the table asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ByteType, StructField, StructType

from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.spark.conversion.arrow_types import returned
from paimon_sql.spark.execution.arrow_batches import map_in_arrow
from paimon_sql.spark.execution.worker_errors import one_message
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

"""The rows of a write: a few are written on the driver at once, many by workers that each own their buckets."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf, col

from paimon_sql.format.options.compaction import WRITE_ONLY
from paimon_sql.spark.compat import local_batches
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.java import Jvm
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.commit.overwrite import Overwrite, overwritten
from paimon_sql.storage.compact.plan import plan_triggered, run_task
from paimon_sql.storage.executor import Executor
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.routing import Router
from paimon_sql.storage.write.settings import WriteSettings
from paimon_sql.storage.write.task import WriteTask, plan_write

_LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"


def run_write(jvm: Jvm, table: Table, frame: DataFrame, overwrite: Overwrite | None) -> None:
    """Write the rows of a statement and commit them.

    Args:
        jvm: the JVM.
        table: the table.
        frame: the rows, with the table's columns by position.
        overwrite: what they replace; None appends.
    """
    task = plan_write(table, overwrite is not None)
    messages = write_rows(jvm, task, frame)
    committer = Committer(table)
    if overwrite is None:
        committer.append([*messages, *compact_due(table, messages, SparkExecutor(jvm))])
    else:
        committer.overwrite(messages, lambda latest: overwritten(table, latest, overwrite, messages))


def compact_due(table: Table, messages: list[CommitMessage], executor: Executor) -> list[CommitMessage]:
    """The compactions that new files make due in their buckets; none for a table that is only written to."""
    if not table.schema.primary_keys or table.options.get(WRITE_ONLY):
        return []
    return list(executor.map(run_task, plan_triggered(table, messages)))


def write_rows(jvm: Jvm, task: WriteTask, frame: DataFrame) -> list[CommitMessage]:
    """Write rows into files that nobody sees yet; the messages that make them visible."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.getClass().getName() == _LOCAL:
        return task.run(local_batches(jvm, plan))
    named = frame.toDF(*task.table.schema.names)
    rows = _with_owners(task.table, named).mapInArrow(_writer_of(task), "message binary").collect()
    return [message for row in rows for message in pickle.loads(row.message)]


def _with_owners(table: Table, frame: DataFrame) -> DataFrame:
    """The rows brought to the one task that owns their partition and bucket, where buckets have owners."""
    settings = WriteSettings(table.schema)
    if settings.buckets <= 0:
        return frame
    session = frame.sparkSession
    tasks = int(session.conf.get("spark.sql.shuffle.partitions") or "2")
    if not table.schema.partition_keys:
        tasks = min(tasks, settings.buckets)
    if tasks == 1:
        return frame.coalesce(1)
    owner = arrow_udf(_owner_of(Router(table.schema, settings.buckets), tasks), "int")
    keys = dict.fromkeys([*table.schema.partition_keys, *table.schema.bucket_keys])
    return frame.repartitionById(tasks, owner(*(col(_quoted(k)) for k in keys)))


def _owner_of(router: Router, tasks: int) -> Callable[..., pa.Array]:
    names = list(dict.fromkeys([*router.schema.partition_keys, *router.schema.bucket_keys]))

    def owner(*columns: pa.Array) -> pa.Array:
        batch = router.conform(pa.RecordBatch.from_arrays(list(columns), names=names))
        partitions, codes = router.partitions_of(batch)
        seeds = np.array([zlib.crc32(p) for p in partitions], dtype=np.int64)
        return pa.array(((seeds[codes] + router.buckets_of(batch)) % tasks).astype(np.int32))

    return owner


def _writer_of(task: WriteTask) -> Any:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = task.run(batches)
        yield pa.RecordBatch.from_pydict({"message": pa.array([pickle.dumps(messages)], pa.binary())})

    return write


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

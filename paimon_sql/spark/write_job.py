"""The rows of a write: a few are written on the driver at once, many by workers that each own their buckets."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.spark.arrow_batches import gathered, unmeasured_batches
from paimon_sql.spark.compat import local_batches
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.owners import owned
from paimon_sql.spark.small_plans import fits_one_task
from paimon_sql.spark.worker_errors import Failure, answering
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.commit.overwrite import Overwrite, overwritten
from paimon_sql.storage.compact.run import compact_due
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.task import plan_write
from paimon_sql.storage.write.write_task import WriteTask

_LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"


def run_write(jvm: Jvm, table: Table, frame: DataFrame, overwrite: Overwrite | None) -> None:
    """Write the rows of a statement and commit them.

    Args:
        jvm: the JVM.
        table: the table.
        frame: the rows, with the table's columns by position.
        overwrite: what they replace; None appends.
    """
    task = plan_write(table, overwrite)
    messages = write_rows(jvm, task, frame)
    committer = Committer(table, fresh=True)
    try:
        compacted = compact_due(table, messages, SparkExecutor(jvm), alone=overwrite is not None)
    except BaseException:
        committer.discard(messages)
        raise
    if overwrite is None:
        committer.append([*messages, *compacted], guard=task.guard(messages))
    else:
        committer.overwrite([*messages, *compacted], lambda latest: overwritten(table, latest, overwrite, messages))


def write_rows(jvm: Jvm, task: WriteTask, frame: DataFrame) -> list[CommitMessage]:
    """Write rows into files that nobody sees yet; the messages that make them visible.

    The rows have the table's columns by position, those of a keyed table perhaps their kind behind them.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.getClass().getName() == _LOCAL:
        return task.run(local_batches(jvm, plan))
    names = [*task.table.schema.names, VALUE_KIND.name]
    named = frame.toDF(*names[: len(frame.columns)])
    alone = task.grows_with_rows and fits_one_task(jvm, plan)
    with unmeasured_batches(frame):
        writer, rows = (task, named.coalesce(1)) if alone else owned(task, named)
        answers = [pickle.loads(a.message) for a in rows.mapInArrow(_writer_of(writer), "message binary").collect()]
    failure = next((answer for answer in answers if isinstance(answer, Failure)), None)
    messages = [message for answer in answers if not isinstance(answer, Failure) for message in answer]
    if failure is not None:
        Committer(task.table, fresh=True).discard(messages)
        raise failure.error()
    return list(task.settled(messages, SparkExecutor(jvm)))


def _writer_of(task: WriteTask) -> Any:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answer = answering(task.run)(gathered(batches))
        yield pa.RecordBatch.from_pydict({"message": pa.array([pickle.dumps(answer)], pa.binary())})

    return write

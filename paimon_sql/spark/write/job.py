"""Write request and job: few rows are written on the driver, many by workers that each own their buckets."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

from pyspark.sql import DataFrame

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.spark.execution.distribute import fits_one_task, row_limited_batches, run_on_executors
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.jvm.compat import local_batches
from paimon_sql.spark.jvm.gateway import CATALYST, PLANS, Jvm
from paimon_sql.spark.write.bucket_distribution import distributed, in_one_task, in_partitions, in_ranges
from paimon_sql.storage.columns.blobs_and_vectors import has_blobs
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.statements.insert import commit_write
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import describe_write, plan_write
from paimon_sql.storage.write.task import WriteTask

LOG = logging.getLogger("paimon_sql.writes")
"""Logs the writers of each statement on level DEBUG."""
_LOCAL = f"{PLANS}.LocalRelation"
_TO_LOCAL = f"{CATALYST}.optimizer.ConvertToLocalRelation"


class WritePath(Enum):
    """The writers of a statement's rows."""

    DRIVER = "the driver"
    ONE_TASK = "one task"
    TASKS = "tasks that own their buckets"


@dataclass(frozen=True)
class WriteRequest:
    """A request of Spark to a write (Spark: ``WriteBuilder`` and its mixins); EXPLAIN prints it.

    Attributes:
        table: the table with the options of the write.
        overwrite: the rows that are replaced; None appends.
        by_partition: whether Spark brings the rows of a partition together and has its own tasks write them, as it does
            for a dynamic overwrite.
        stream: the id of the streaming query; None for a batch.
        qualified_name: the table's name in Spark, with the catalog; empty if its catalog does not have it yet.
    """

    table: Table
    overwrite: Overwrite | None = None
    by_partition: bool = False
    stream: str | None = None
    qualified_name: tuple[str, ...] = ()

    def describe(self) -> str:
        """One line, for EXPLAIN and the UI."""
        return f"paimon {self.table.name} ({describe_write(self.table, self.overwrite)})"


@dataclass(frozen=True)
class Written:
    """The result of a write: the number of rows in new files, and its newest snapshot; None if it made none."""

    rows: int
    snapshot: Snapshot | None


def run_write(jvm: Jvm, transaction: Transaction, frame: DataFrame, overwrite: Overwrite | None) -> Written:
    """Write the rows of a statement and commit them.

    Args:
        jvm: the JVM.
        transaction: the transaction, which has committed nothing yet.
        frame: the rows, with the table's columns by position.
        overwrite: the rows that they replace; None appends.
    """
    task = plan_write(transaction.table, overwrite)
    messages = transaction.staged.own(write_rows(jvm, task, frame))
    snapshot = commit_write(transaction, task, messages, overwrite, SparkExecutor(jvm))
    return Written(sum(f.row_count for m in messages for f in m.new_files), snapshot)


def choose_path(jvm: Jvm, task: WriteTask, plan: LogicalPlan) -> WritePath:
    """Choose the writers of the rows of an optimized plan."""
    if plan.getClass().getName() == _LOCAL:
        return WritePath.DRIVER
    return WritePath.ONE_TASK if task.grows_with_rows and fits_one_task(jvm, plan) else WritePath.TASKS


def _optimized(jvm: Jvm, frame: DataFrame) -> LogicalPlan:
    """The optimized plan of a frame.

    Expressions over literal rows, such as those of VALUES, are computed by one rule: a whole optimization takes as long
    as a tenth of such a statement.
    """
    execution = frame._jdf.queryExecution()
    analyzed: LogicalPlan = execution.logical()
    # Values that may be other ones the next time are those of the frame's cache, if it has one.
    if analyzed.deterministic():
        plan: LogicalPlan = jvm.singleton(_TO_LOCAL).apply(analyzed)
        if plan.getClass().getName() == _LOCAL:
            return plan
    optimized: LogicalPlan = execution.optimizedPlan()
    return optimized


def write_rows(jvm: Jvm, task: WriteTask, frame: DataFrame) -> list[CommitMessage]:
    """Write rows to uncommitted files and return their commit messages.

    The rows have the table's columns by position, for a primary key table optionally followed by the row kind.
    """
    plan = _optimized(jvm, frame)
    path = choose_path(jvm, task, plan)
    LOG.debug("%s is written by %s", task.table.name, path.value)
    if path is WritePath.DRIVER:
        return task.run(local_batches(jvm, plan))
    names = [*task.table.schema.names, VALUE_KIND.name]
    named = frame.toDF(*names[: len(frame.columns)])
    with row_limited_batches(frame, blobs=has_blobs(task.table.schema.fields)):
        if path is WritePath.ONE_TASK:
            writer, rows = in_one_task(task, named)
        else:
            writer, rows = distributed(task, in_ranges(task, in_partitions(task, named)))
        shares = run_on_executors(task.table, rows.frame, rows.worker(writer.run), lambda messages: messages)
    return list(task.finalize([message for share in shares for message in share], SparkExecutor(jvm)))

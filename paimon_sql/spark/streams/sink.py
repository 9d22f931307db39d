"""Tables as sinks: each micro-batch of a stream is one commit, made once whatever fails in between.

Spark writes a micro-batch's rows as they lie in their partitions; a table's rows must reach the owners of their buckets
first. So a rule puts into the plan of a micro-batch what other writes do by a job of their own: the exchange and the
Python workers that write. What is left for Spark to carry to the driver are the workers' answers.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.interfaces import StreamingWriteInterface
from paimon_sql.spark.java import CATALYST, EXECUTION, Jvm, behind
from paimon_sql.spark.owners import owned
from paimon_sql.spark.plan_rules import PlanRule, with_leaves
from paimon_sql.spark.shares import answers_of
from paimon_sql.spark.types import spark_struct
from paimon_sql.spark.worker_errors import Failure, answered
from paimon_sql.spark.write_job import commit_write
from paimon_sql.storage.buckets.cross_partition import CrossPartitionTask
from paimon_sql.storage.commit.all_or_nothing import all_or_nothing
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.commit.once import is_committed
from paimon_sql.storage.commit.overwrite import Overwrite
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.task import plan_write
from paimon_sql.storage.write.write_task import WriteTask

_SOURCES = f"{EXECUTION}.streaming.sources"
_ROOT = "WriteToDataSourceV2"
_MICRO_BATCH = "MicroBatchWrite"


class StreamingWriteProxy(StreamingWriteInterface):
    """The write of one micro-batch.

    Args:
        jvm: the JVM.
        table: the table.
        overwrite: what the rows replace; None appends.
        stream: the stream's identity, the same after each restart from its checkpoint.
    """

    _last: ClassVar[dict[tuple[str, str], int]] = {}
    """The micro-batch that each stream of this process committed last, by the stream and the table's path."""

    def __init__(self, jvm: Jvm, table: Table, overwrite: Overwrite | None, stream: str) -> None:
        super().__init__(jvm)
        # Each micro-batch is a statement of its own, and opens the table anew.
        self.table = replace(table)
        self._overwrite = overwrite
        self._stream = stream
        self._task: WriteTask | None = None

    def toString(self) -> str:
        return f"paimon {self.table.name}"

    def way_of_rows(self, session: Any, query: Any) -> Any | None:
        """The plan whose rows are what workers answer that wrote a query's rows; None if it stands there already."""
        if self._task is not None:
            return None
        self._task = plan_write(self.table, self._overwrite)
        return _way_of_rows(self.jvm, session, self._task, query)

    def createStreamingWriterFactory(self, info: Any) -> Any:
        if self._task is None:
            raise UnsupportedError("This session cannot write streams: Spark's optimizer lacks a rule of ours.")
        return self.jvm.singleton(f"{_SOURCES}.PackedRowWriterFactory")

    def commit(self, epoch: int, messages: Any) -> None:
        shares = all_or_nothing(self.table, answered(_answers(messages)), lambda written: written)
        assert self._task is not None
        written = list(self._task.settled([m for share in shares for m in share], SparkExecutor(self.jvm)))
        if self._is_committed(epoch):
            Committer(self.table, fresh=True).discard(written)
        else:
            commit_write(self.jvm, self._task, written, self._overwrite, self._stream, epoch)
        self._last[self._stream, self.table.path] = epoch

    def abort(self, epoch: int, messages: Any) -> None:
        shares = [answer for answer in _answers(messages) if not isinstance(answer, Failure)]
        Committer(self.table, fresh=True).discard([message for share in shares for message in share])

    def _is_committed(self, epoch: int) -> bool:
        """Whether this micro-batch was committed before, by a run of the stream that ended before it could say so."""
        if self._last.get((self._stream, self.table.path)) == epoch - 1:
            return False
        return is_committed(self.table, self._stream, epoch)


def _answers(messages: Any) -> list[list[CommitMessage] | Failure]:
    """What workers answered, by the messages of Spark's tasks; those of tasks that failed are null."""
    rows = [row for message in messages if message is not None for row in message.rows()]
    return [pickle.loads(row.getBinary(0)) for row in rows]


def _way_of_rows(jvm: Jvm, session: Any, task: WriteTask, query: Any) -> Any:
    """The optimized plan of the rows' way to their writers, above a plan that is optimized already.

    It is planned above rows that are not there, and these are then replaced, so that Spark need not analyze anew what
    only a stream's own execution can.
    """
    empty = session.createDataFrame(jvm.context._jsc.emptyRDD(), query.schema())
    rows = DataFrame(empty, SparkSession(jvm.context, session))
    _check_names(task.table, rows.columns)
    rows = rows.to(_struct(task.table))
    # Where each key stands is looked up by jobs of their own, which cannot be part of a plan; one worker does without.
    writer, rows = (task, rows.coalesce(1)) if isinstance(task, CrossPartitionTask) else owned(task, rows)
    plan = answers_of(rows, writer.run)._jdf.queryExecution().optimizedPlan()
    (leaf,) = jvm.items(plan.collectLeaves())
    return with_leaves(jvm, plan, {0: _as_leaf(jvm, query, leaf)})


def _check_names(table: Table, names: Sequence[str]) -> None:
    known = {name.lower() for name in table.schema.names}
    if strange := [name for name in names if name.lower() not in known]:
        raise InvalidInputError(
            f"{table.name} has no column {', '.join(strange)}: columns of a stream are matched by name.",
            remedy=f"Select {', '.join(table.schema.names)}.",
        )


def _struct(table: Table) -> StructType:
    """The table's columns, nulls allowed: the writers refuse them where they are not."""
    return StructType.fromJson(spark_struct([replace(f, type=f.type.as_nullable()) for f in table.schema.fields]))


def _as_leaf(jvm: Jvm, query: Any, leaf: Any) -> Any:
    """A query under the names and ids of a leaf's columns."""
    columns = [
        jvm.new(
            f"{CATALYST}.expressions.Alias", source, target.name(), target.exprId(), jvm.seq([]), jvm.none, jvm.seq([])
        )
        for source, target in zip(jvm.items(query.output()), jvm.items(leaf.output()), strict=True)
    ]
    return jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(columns), query)


class WriteByWorkers(PlanRule):
    """Brings the rows of a stream's micro-batch to the workers that write them."""

    def __init__(self, jvm: Jvm, session: Any) -> None:
        super().__init__(jvm)
        self._session = session

    def rewritten(self, plan: Any) -> Any:
        if plan.getClass().getSimpleName() != _ROOT or plan.batchWrite().getClass().getSimpleName() != _MICRO_BATCH:
            return plan
        write = behind(self.jvm, plan.batchWrite().writeSupport())
        if not isinstance(write, StreamingWriteProxy):
            return plan
        answers = write.way_of_rows(self._session, plan.query())
        return plan if answers is None else plan.withNewChildren(self.jvm.seq([answers]))

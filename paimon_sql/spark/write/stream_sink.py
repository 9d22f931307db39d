"""Streaming sink: each micro-batch of a stream is one commit, made once despite failures.

Spark writes a micro-batch's rows in their current partitions, but they must reach the owners of their buckets first. So
a rule adds to the plan of a micro-batch what other writes run as a separate job: the exchange and the Python workers
that write. To the driver Spark passes only the workers' answers.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.engines.spark import STREAM_UNKNOWN_EPOCH, WRITE_MERGE_SCHEMA
from paimon_sql.format.options.operations.compaction import FULL_COMPACTION_DELTA_COMMITS
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import StreamingWriteInterface
from paimon_sql.spark.conversion.types import row_struct, spark_struct
from paimon_sql.spark.execution.distribute import map_partitions
from paimon_sql.spark.execution.executor import Failure, SparkExecutor, results
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, Jvm
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.optimizer import PlanRule, new_alias, new_id, with_leaves
from paimon_sql.spark.write.bucket_distribution import distributed
from paimon_sql.spark.write.job import commit_write
from paimon_sql.spark.write.merge_schema import SchemaMerge
from paimon_sql.spark.write.request import WriteRequest
from paimon_sql.storage.commit.snapshot.carried_properties import EpochCommittedError, EpochSkippedError, committed_once
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask


def with_lengths(session: JvmSession, rows: DataFrame, fields: Sequence[DataField]) -> DataFrame:
    """The rows with each CHAR padded with blanks; strings that are too long fail when the rows are read.

    Args:
        session: the session.
        rows: rows with these columns in order; CHAR and VARCHAR are strings.
        fields: the columns.
    """
    struct = spark_struct(fields)
    if struct == row_struct(fields):
        return rows
    jvm = session.jvm
    util = jvm.singleton(f"{CATALYST}.util.CharVarcharUtils")
    query: LogicalPlan = rows._jdf.queryExecution().analyzed()
    types = jvm.struct(json.dumps(struct)).fields()
    columns = [
        new_alias(jvm, util.stringLengthCheck(column, types[i].dataType()), column.name(), new_id(jvm))
        for i, column in enumerate(jvm.items(query.output()))
    ]
    return session.frame(jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(columns), query))


_SOURCES = f"{EXECUTION}.streaming.sources"
_ROOT = "WriteToDataSourceV2"
_MICRO_BATCH = "MicroBatchWrite"


@dataclass(frozen=True)
class TableLocation:
    """A table's catalog, and its identifier there."""

    catalog: Catalog
    identifier: Identifier


class StreamingWriteProxy(StreamingWriteInterface):
    """The write of one micro-batch.

    Args:
        session: the session that started the stream.
        request: the request.
        stream: the stream's id, which is the same after each restart from its checkpoint.
    """

    def __init__(self, session: JvmSession, request: WriteRequest, stream: str) -> None:
        super().__init__(session.jvm)
        self._session = session
        self.request = request
        self.table = request.table.reopened()  # each micro-batch is a statement of its own
        self._stream = stream
        self._task: WriteTask | None = None
        self._begun = -1

    def toString(self) -> str:
        return self.request.describe()

    def write_plan(self, session: JvmSession, query: LogicalPlan, home: TableLocation | None) -> LogicalPlan | None:
        """The plan that writes a query's rows by workers and returns their answers; None if the rule has run already.

        Args:
            session: the session that executes the micro-batch.
            query: the optimized plan of the rows.
            home: the table's catalog and identifier; None if the catalog no longer exists.
        """
        if self._task is not None:
            return None
        rows = _no_rows(session, query)
        if home is not None and self.table.options.get(WRITE_MERGE_SCHEMA):
            merge = SchemaMerge(self.table, rows, case_sensitive=session.case_sensitive)
            self.table = merge.apply(home.catalog, replace(home.identifier, branch=self.table.branch))
            rows = merge.rows(self.table)
        self._task = plan_write(self.table, self.request.overwrite)
        return _write_plan(session, self._task, rows, query)

    def createStreamingWriterFactory(self, info: object) -> JavaObject:
        if self._task is None:
            raise UnsupportedError("This session cannot write streams: Spark's optimizer lacks a rule of paimon-sql.")
        return self.jvm.singleton(f"{_SOURCES}.PackedRowWriterFactory")

    def commit(self, epoch: int, messages: Sequence[JavaObject | None]) -> None:
        assert self._task is not None
        self._begun = epoch
        once = committed_once(
            self.table,
            self._stream,
            epoch,
            began=self._began,
            otherwise=self.table.options.get(STREAM_UNKNOWN_EPOCH),
        )
        with Transaction(self.table, user=self._stream, identifier=epoch, validations=[once]) as transaction:
            shares = transaction.staged.collect(results(_answers(messages)), lambda written: written)
            written = [message for share in shares for message in share]
            settled = list(self._task.finalize(written, SparkExecutor(self.jvm)))
            try:
                commit_write(
                    self.jvm, transaction, self._task, settled, self.request.overwrite, self._compacted_as(epoch)
                )
            except EpochSkippedError:
                self._record_skipped(epoch)
            except EpochCommittedError:
                pass  # by an earlier run, or by another process that runs this stream
        cached_tables.renew(self._session)

    def _compacted_as(self, epoch: int) -> Table:
        """The table with the options by which a micro-batch compacts: only every n-th may compact fully."""
        every = self.table.options.get(FULL_COMPACTION_DELTA_COMMITS) or 0
        if every <= 1 or (epoch + 1) % every == 0:
            return self.table
        return self.table.with_options({FULL_COMPACTION_DELTA_COMMITS.key: "0"})

    def abort(self, epoch: int, messages: Sequence[JavaObject | None]) -> None:
        # After the commit has begun, only its transaction decides whether files are deleted.
        if epoch > self._begun:
            with StagedFiles(self.table) as staged:
                for answer in _answers(messages):
                    if not isinstance(answer, Failure):
                        staged.own(answer)

    def _record_skipped(self, epoch: int) -> None:
        """Commit the epoch of a skipped micro-batch without its rows, so that the next epoch finds it."""
        once = committed_once(self.table, self._stream, epoch, began=self._began, otherwise="commit")
        with (
            suppress(EpochCommittedError),
            Transaction(self.table, user=self._stream, identifier=epoch, validations=[once]) as transaction,
        ):
            operations.annotate(transaction)

    def _began(self) -> int | None:
        """The time when the stream's checkpoint was created, in milliseconds since 1970; None if it is unknown."""
        for run in self._session.java.sharedState().activeStreamingQueries().values():
            if str(run.id()) == self._stream:
                metadata = self.jvm.new("org.apache.hadoop.fs.Path", run.resolvedCheckpointRoot(), "metadata")
                files = metadata.getFileSystem(self._session.state.newHadoopConf())
                return int(files.getFileStatus(metadata).getModificationTime())
        return None


def _answers(messages: Sequence[JavaObject | None]) -> list[list[CommitMessage] | Failure]:
    """The workers' answers in the messages of Spark's tasks; messages of failed tasks are null."""
    rows = [row for message in messages if message is not None for row in message.rows()]
    return [pickle.loads(row.getBinary(0)) for row in rows]


def _no_rows(session: JvmSession, query: LogicalPlan) -> DataFrame:
    """An empty frame with the columns of a query."""
    empty = session.java.createDataFrame(session.jvm.context._jsc.emptyRDD(), query.schema())
    return DataFrame(empty, session.python)


def _write_plan(session: JvmSession, task: WriteTask, rows: DataFrame, query: LogicalPlan) -> LogicalPlan:
    """The optimized plan that distributes and writes the rows of an optimized query.

    It is planned over an empty frame, whose leaf is then replaced by the query: only a stream's own execution can
    analyze the query.
    """
    _check_names(task.table, rows.columns)
    # All columns are nullable here: the writers reject nulls in NOT NULL columns.
    fields = [replace(f, type=f.type.as_nullable()) for f in task.table.schema.fields]
    rows = with_lengths(session, rows.to(StructType.fromJson(row_struct(fields))), fields)
    # The look-up of keys in other partitions runs separate jobs, which a plan cannot contain; one worker needs none.
    writer, rows = (task, rows.coalesce(1)) if task.runs_jobs else distributed(task, rows)
    plan: LogicalPlan = map_partitions(rows, writer.run)._jdf.queryExecution().optimizedPlan()
    (leaf,) = session.jvm.items(plan.collectLeaves())
    return with_leaves(session.jvm, plan, {0: _as_leaf(session.jvm, query, leaf)})


def _check_names(table: Table, names: Sequence[str]) -> None:
    known = {name.lower() for name in table.schema.names}
    if unknown := [name for name in names if name.lower() not in known]:
        raise InvalidInputError(
            f"{table.name} has no column {', '.join(unknown)}: columns of a stream are matched by name.",
            remedy=f"Select {', '.join(table.schema.names)}, or set '{WRITE_MERGE_SCHEMA.key}' to add columns.",
        )


def _as_leaf(jvm: Jvm, query: LogicalPlan, leaf: LogicalPlan) -> LogicalPlan:
    """A query with the names and ids of a leaf's columns."""
    columns = [
        new_alias(jvm, source, target.name(), target.exprId())
        for source, target in zip(jvm.items(query.output()), jvm.items(leaf.output()), strict=True)
    ]
    return jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(columns), query)


class StreamWriteRule(PlanRule):
    """Adds distribution and writing to the plan of a stream's micro-batch.

    Args:
        session: the session.
        home: finds the catalog and identifier of a table by its name in Spark.
    """

    roots = frozenset((_ROOT,))

    def __init__(self, session: JvmSession, home: Callable[[tuple[str, ...]], TableLocation | None]) -> None:
        super().__init__(session.jvm)
        self._session = session
        self._home = home

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        if plan.batchWrite().getClass().getSimpleName() != _MICRO_BATCH:
            return plan
        write = python_object(self.jvm, plan.batchWrite().writeSupport())
        if not isinstance(write, StreamingWriteProxy):
            return plan
        answers = write.write_plan(self._session, plan.query(), self._home(write.request.qualified_name))
        return plan if answers is None else plan.withNewChildren(self.jvm.seq([answers]))

"""Spark's writes: those of statements with their builder, dynamic overwrites, and the sink of streams.

Each micro-batch of a stream is one commit, made once despite failures. Spark writes a micro-batch's rows in their
current partitions, but they must reach the owners of their buckets first. So a rule adds to the plan of a micro-batch
what other writes run as a separate job: the exchange and the Python workers that write. To the driver Spark passes only
the workers' answers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import BinaryType, StructField, StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.engines.spark import STREAM_UNKNOWN_EPOCH, WRITE_MERGE_SCHEMA
from paimon_sql.format.options.operations.commit import DYNAMIC_PARTITION_OVERWRITE
from paimon_sql.format.options.operations.compaction import FULL_COMPACTION_DELTA_COMMITS
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import BatchWriteInterface, WriteInterface
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.conversion.types import row_struct, spark_struct
from paimon_sql.spark.execution.distribute import map_partitions
from paimon_sql.spark.execution.executor import Failure, SparkExecutor, results
from paimon_sql.spark.expressions.connector_predicates import partition_condition
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.catalyst import StructType as JavaStruct
from paimon_sql.spark.java.connector import ConnectorExpression, WriteInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.session import Dataset
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, DATASOURCES, EXECUTION, PLANS, Jvm
from paimon_sql.spark.jvm.proxy import Proxy, python_object
from paimon_sql.spark.jvm.session import JvmSession, SessionProxy
from paimon_sql.spark.options import warn_of_ineffective, write_options
from paimon_sql.spark.rules.optimizer import PlanRule, new_alias, new_id, with_leaves
from paimon_sql.spark.write.bucket_distribution import distributed, in_one_task
from paimon_sql.spark.write.job import WriteRequest, run_write
from paimon_sql.spark.write.merge_schema import SchemaMerge
from paimon_sql.storage.branches.selection import moved_to_branch
from paimon_sql.storage.commit.snapshot.carried_properties import EpochCommittedError, EpochSkippedError, committed_once
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.statements.insert import commit_write
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
    types = jvm.struct(struct).fields()
    columns = [
        new_alias(jvm, util.stringLengthCheck(column, types[i].dataType()), column.name(), new_id(jvm))
        for i, column in enumerate(jvm.items(query.output()))
    ]
    return session.frame(jvm.new(f"{PLANS}.Project", jvm.seq(columns), query))


_SOURCES = f"{EXECUTION}.streaming.sources"
_ROOT = "WriteToDataSourceV2"
_MICRO_BATCH = "MicroBatchWrite"


@dataclass(frozen=True)
class TableLocation:
    """A table's catalog, and its identifier there."""

    catalog: Catalog
    identifier: Identifier


@dataclass(eq=False)
class StreamingWriteProxy(SessionProxy):
    """The write of one micro-batch; its session is that which started the stream.

    Attributes:
        request: the request.
        stream: the stream's id, which is the same after each restart from its checkpoint.
    """

    implements = [f"{CONNECTOR}.write.streaming.StreamingWrite"]
    request: WriteRequest
    stream: str
    _task: WriteTask | None = field(default=None, init=False)
    _begun: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.table = self.request.table.reopened()  # each micro-batch is a statement of its own

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

    def useCommitCoordinator(self) -> bool:
        return True

    def createStreamingWriterFactory(self, info: object) -> JavaObject:
        if self._task is None:
            raise UnsupportedError("This session cannot write streams: Spark's optimizer lacks a rule of paimon-sql.")
        return self.jvm.singleton(f"{_SOURCES}.PackedRowWriterFactory")

    def commit(self, epoch: int, messages: Sequence[JavaObject | None]) -> None:
        assert self._task is not None
        self._begun = epoch
        with self._transaction(epoch, self.table.options.get(STREAM_UNKNOWN_EPOCH)) as transaction:
            shares = transaction.staged.collect(results(_answers(messages)), lambda written: written)
            written = [message for share in shares for message in share]
            executor, overwrite = SparkExecutor(self.jvm), self.request.overwrite
            settled = list(self._task.finalize(written, executor))
            try:
                commit_write(transaction, self._task, settled, overwrite, executor, self._compacted_as(epoch))
            except EpochSkippedError:
                self._record_skipped(epoch)
            except EpochCommittedError:
                pass  # by an earlier run, or by another process that runs this stream
        cached_tables.renew(self.session)

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
        with suppress(EpochCommittedError), self._transaction(epoch, "commit") as transaction:
            operations.annotate(transaction)

    def _transaction(self, epoch: int, otherwise: str) -> Transaction:
        """The transaction that commits an epoch once; ``otherwise`` is what to do if it may have been committed."""
        once = committed_once(self.table, self.stream, epoch, began=self._began, otherwise=otherwise)
        return Transaction(self.table, user=self.stream, identifier=epoch, validations=[once])

    def _began(self) -> int | None:
        """The time when the stream's checkpoint was created, in milliseconds since 1970; None if it is unknown."""
        for run in self.session.java.sharedState().activeStreamingQueries().values():
            if str(run.id()) == self.stream:
                metadata = self.jvm.new("org.apache.hadoop.fs.Path", run.resolvedCheckpointRoot(), "metadata")
                files = metadata.getFileSystem(self.session.state.newHadoopConf())
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
    writer, parts = (in_one_task if task.runs_jobs else distributed)(task, rows)
    work = map_partitions(parts.frame, parts.worker(writer.run))
    plan: LogicalPlan = work._jdf.queryExecution().optimizedPlan()
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
    return jvm.new(f"{PLANS}.Project", jvm.seq(columns), query)


@dataclass(eq=False)
class StreamWriteRule(PlanRule):
    """Adds distribution and writing to the plan of a stream's micro-batch.

    Attributes:
        home: finds the catalog and identifier of a table by its name in Spark.
    """

    roots = frozenset((_ROOT,))
    home: Callable[[tuple[str, ...]], TableLocation | None]

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        if plan.batchWrite().getClass().getSimpleName() != _MICRO_BATCH:
            return plan
        write = python_object(self.jvm, plan.batchWrite().writeSupport())
        if not isinstance(write, StreamingWriteProxy):
            return plan
        answers = write.write_plan(self.session, plan.query(), self.home(write.request.qualified_name))
        return plan if answers is None else plan.withNewChildren(self.jvm.seq([answers]))


_DYNAMIC = DYNAMIC_PARTITION_OVERWRITE.key


class WriteProxy(WriteInterface):
    """A statement's write: append, or overwrite of all rows, some partitions, or those of the rows.

    To Spark it is the builder of the write, the write (Spark: ``V1Write``), and the relation into which it inserts the
    rows with one call.

    Args:
        session: the session.
        table: the table.
        info: Spark's ``LogicalWriteInfo``.
        qualified_name: the table's name in Spark, with the catalog; empty if its catalog does not have it yet.
    """

    implements = [
        *WriteInterface.implements,
        f"{CONNECTOR}.write.SupportsOverwrite",
        f"{CONNECTOR}.write.SupportsDynamicOverwrite",
        "org.apache.spark.sql.sources.InsertableRelation",
    ]

    def __init__(
        self, session: JvmSession, table: Table, info: WriteInfo, qualified_name: tuple[str, ...] = ()
    ) -> None:
        super().__init__(session)
        given = write_options(session.jvm, table, info.options())
        warn_of_ineffective(session, given)
        self._struct = info.schema()
        target = moved_to_branch(table, given, writes=True).with_options(given)
        self.request = WriteRequest(target, stream=info.queryId(), qualified_name=qualified_name)
        # The statement's own option overrides Spark's partitionOverwriteMode.
        is_own = _DYNAMIC in given and bool(target.schema.partition_keys)
        self._dynamic = target.options.get(DYNAMIC_PARTITION_OVERWRITE) if is_own else None

    def build(self) -> WriteProxy | DynamicOverwriteProxy:
        if self.request.by_partition:
            return DynamicOverwriteProxy(self.session, self.request, self._struct)
        return self

    def toString(self) -> str:
        return self.request.describe()

    def toStreaming(self) -> StreamingWriteProxy:
        if self.request.stream is None:
            raise UnsupportedError("A table that a statement is creating does not support streaming writes.")
        return StreamingWriteProxy(self.session, self.request, self.request.stream)

    def toInsertableRelation(self) -> Proxy:
        return self

    def insert(self, frame: Dataset, overwrite: bool) -> None:
        self._write(DataFrame(frame, self.session.python))

    def _write(self, rows: DataFrame) -> None:
        with Transaction(self.request.table) as transaction:
            run_write(self.jvm, transaction, rows, self.request.overwrite)
        cached_tables.renew(self.session)

    def buildForBatch(self) -> Proxy:
        raise UnsupportedError("A V1 write has no batch form.")

    def buildForStreaming(self) -> Proxy:
        raise UnsupportedError("A V1 write has no streaming form of its own.")

    def truncate(self) -> WriteProxy:
        return self._replaces(Overwrite())

    def canOverwrite(self, filters: Sequence[ConnectorExpression]) -> bool:
        return True

    def overwrite(self, filters: Sequence[ConnectorExpression]) -> WriteProxy:
        return self._replaces(Overwrite(partition_condition(self.request.table, filters)))

    def overwriteDynamicPartitions(self) -> WriteProxy:
        return self._replaces(Overwrite(dynamic=True), by_partition=True)

    def _replaces(self, overwrite: Overwrite, *, by_partition: bool = False) -> WriteProxy:
        if self._dynamic is not None:
            overwrite = Overwrite(None if self._dynamic else overwrite.partitions, self._dynamic)
        self.request = replace(self.request, overwrite=overwrite, by_partition=by_partition)
        return self


_PYTHON = f"{DATASOURCES}.v2.python"
_ANSWER = StructType([StructField("message", BinaryType(), False)])


@dataclass
class WrittenFiles(WriterCommitMessage):
    """The files that one task wrote."""

    messages: list[CommitMessage]


class _Target(DataSource):
    """The data source that Spark requires of a writer; none of its methods is called."""


@dataclass(eq=False)
class DynamicOverwriteProxy(BatchWriteInterface):
    """A write that replaces the partitions of its rows, or those of the statement's own overwrite.

    Spark brings the rows of a partition together first, so that one task owns all its buckets.
    """

    request: WriteRequest
    struct: JavaStruct
    _committed: bool = field(default=False, init=False)

    def toString(self) -> str:
        return self.request.describe()

    def requiredDistribution(self) -> JavaObject:
        columns = [reference_to(self.jvm, name) for name in self.request.table.schema.partition_keys]
        clusters = self.jvm.array(f"{CONNECTOR}.expressions.Expression", columns)
        return self.jvm.cls(f"{CONNECTOR}.distributions.Distributions").clustered(clusters)

    def distributionStrictlyRequired(self) -> bool:
        return True

    def requiredOrdering(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.expressions.SortOrder")

    def createBatchWriterFactory(self, info: object) -> JavaObject:
        task = plan_write(self.request.table, Overwrite(dynamic=True))

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            answer = pickle.dumps(WrittenFiles(task.run(batches)))
            yield pa.RecordBatch.from_pydict({"message": pa.array([answer], pa.binary())})

        source = self.jvm.new(f"{_PYTHON}.UserDefinedPythonDataSource", _wrap_function(self.jvm.context, _Target))
        function, none = self.jvm.pickle((write, _ANSWER)), self.jvm.none
        return self.jvm.new(f"{_PYTHON}.PythonBatchWriterFactory", source, function, self.struct, none, none)

    def useCommitCoordinator(self) -> bool:
        return True

    def commit(self, answers: Sequence[JavaObject], *summary: object) -> None:
        messages = _messages(answers)
        overwrite = self.request.overwrite
        assert overwrite is not None
        if overwrite.dynamic and not messages:
            return
        with Transaction(self.request.table) as transaction:
            self._committed = True
            transaction.staged.own(messages)
            compacted = compact_due(self.request.table, messages, SparkExecutor(self.jvm), overwrite)
            operations.overwrite(
                transaction,
                [*messages, *compacted],
                lambda latest: overwritten(self.request.table, latest, overwrite, messages),
            )
        cached_tables.renew(self.session)

    def abort(self, answers: Sequence[JavaObject | None]) -> None:
        # After the commit has begun, only its transaction decides whether files are deleted.
        if not self._committed:
            with StagedFiles(self.request.table) as staged:
                staged.own(_messages(a for a in answers if a is not None))


def _messages(answers: Iterable[JavaObject]) -> list[CommitMessage]:
    return [m for a in answers for m in pickle.loads(bytes(a.pickledMessage())).messages if not m.is_empty()]

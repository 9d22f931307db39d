"""Write builder: collects Spark's request, and starts its V1 write, dynamic overwrite, or streaming write."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import BinaryType, StructField, StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.operations.commit import DYNAMIC_PARTITION_OVERWRITE
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import WriteInterface
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.expressions.connector_predicates import partition_condition
from paimon_sql.spark.java.catalyst import StructType as JavaStruct
from paimon_sql.spark.java.connector import ConnectorExpression, WriteInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.session import Dataset
from paimon_sql.spark.jvm.gateway import CONNECTOR
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import warn_of_ineffective, write_options
from paimon_sql.spark.write.job import run_write
from paimon_sql.spark.write.request import WriteRequest
from paimon_sql.spark.write.stream_sink import StreamingWriteProxy
from paimon_sql.storage.branches.management import moved_to_branch
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write

_DYNAMIC = DYNAMIC_PARTITION_OVERWRITE.key


class WriteBuilderProxy(Proxy):
    """Builder of a statement's write: append, or overwrite of all rows, some partitions, or those of the rows.

    Args:
        session: the session.
        table: the table.
        info: Spark's ``LogicalWriteInfo``.
        qualified_name: the table's name in Spark, with the catalog; empty if its catalog does not have it yet.
    """

    def __init__(
        self, session: JvmSession, table: Table, info: WriteInfo, qualified_name: tuple[str, ...] = ()
    ) -> None:
        super().__init__(session.jvm)
        given = write_options(session.jvm, table, info.options())
        warn_of_ineffective(session, given)
        self.session = session
        self._struct = info.schema()
        target = moved_to_branch(table, given, writes=True).with_options(given)
        self.request = WriteRequest(target, stream=info.queryId(), qualified_name=qualified_name)
        # The statement's own option overrides Spark's partitionOverwriteMode.
        is_own = _DYNAMIC in given and bool(target.schema.partition_keys)
        self._dynamic = target.options.get(DYNAMIC_PARTITION_OVERWRITE) if is_own else None

    def build(self) -> V1WriteProxy | DynamicOverwriteProxy:
        request = self.request
        if request.by_partition:
            return DynamicOverwriteProxy(self.session, request, self._struct)
        return V1WriteProxy(self.session, request)

    def buildForBatch(self) -> Proxy:
        raise UnsupportedError("A V1 write has no batch form.")

    def buildForStreaming(self) -> Proxy:
        raise UnsupportedError("A V1 write has no streaming form of its own.")

    def truncate(self) -> WriteBuilderProxy:
        return self._replaces(Overwrite())

    def canOverwrite(self, filters: Sequence[ConnectorExpression]) -> bool:
        return True

    def overwrite(self, filters: Sequence[ConnectorExpression]) -> WriteBuilderProxy:
        return self._replaces(Overwrite(partition_condition(self.request.table, filters)))

    def overwriteDynamicPartitions(self) -> WriteBuilderProxy:
        return self._replaces(Overwrite(dynamic=True), by_partition=True)

    def _replaces(self, overwrite: Overwrite, *, by_partition: bool = False) -> WriteBuilderProxy:
        if self._dynamic is not None:
            overwrite = Overwrite(None if self._dynamic else overwrite.partitions, self._dynamic)
        self.request = replace(self.request, overwrite=overwrite, by_partition=by_partition)
        return self

    class Java:
        implements = [f"{CONNECTOR}.write.SupportsOverwrite", f"{CONNECTOR}.write.SupportsDynamicOverwrite"]


class V1WriteProxy(WriteInterface):
    """A write that Spark executes as one call with the statement's rows (Spark: ``V1Write``)."""

    def __init__(self, session: JvmSession, request: WriteRequest) -> None:
        super().__init__(session.jvm)
        self.session = session
        self.request = request

    def toString(self) -> str:
        return self.request.describe()

    def toStreaming(self) -> StreamingWriteProxy:
        if self.request.stream is None:
            raise UnsupportedError("A table that a statement is creating does not support streaming writes.")
        return StreamingWriteProxy(self.session, self.request, self.request.stream)

    def toInsertableRelation(self) -> Proxy:
        return InsertableProxy(self.session, self.request)


class InsertableProxy(Proxy):
    """The relation into which Spark inserts the rows."""

    def __init__(self, session: JvmSession, request: WriteRequest) -> None:
        super().__init__(session.jvm)
        self.session = session
        self._request = request

    def insert(self, frame: Dataset, overwrite: bool) -> None:
        with Transaction(self._request.table) as transaction:
            run_write(self.jvm, transaction, DataFrame(frame, self.session.python), self._request.overwrite)
        cached_tables.renew(self.session)

    class Java:
        implements = ["org.apache.spark.sql.sources.InsertableRelation"]


_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python"
_ANSWER = StructType([StructField("message", BinaryType(), False)])


@dataclass
class WrittenFiles(WriterCommitMessage):
    """The files that one task wrote."""

    messages: list[CommitMessage]


class _Target(DataSource):
    """The data source that Spark requires of a writer; none of its methods is called."""


class DynamicOverwriteProxy(WriteInterface):
    """A write that replaces the partitions of its rows, or those of the statement's own overwrite.

    Spark brings the rows of a partition together first, so that one task owns all its buckets.
    """

    def __init__(self, session: JvmSession, request: WriteRequest, struct: JavaStruct) -> None:
        super().__init__(session.jvm)
        self.session = session
        self._request = request
        self._struct = struct
        self._committed = False

    def toString(self) -> str:
        return self._request.describe()

    def toBatch(self) -> Proxy:
        return self

    def requiredDistribution(self) -> JavaObject:
        columns = [reference_to(self.jvm, name) for name in self._request.table.schema.partition_keys]
        clusters = self.jvm.array(f"{CONNECTOR}.expressions.Expression", columns)
        return self.jvm.cls(f"{CONNECTOR}.distributions.Distributions").clustered(clusters)

    def distributionStrictlyRequired(self) -> bool:
        return True

    def requiredNumPartitions(self) -> int:
        return 0

    def advisoryPartitionSizeInBytes(self) -> int:
        return 0

    def requiredOrdering(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.expressions.SortOrder")

    def createBatchWriterFactory(self, info: object) -> JavaObject:
        task = plan_write(self._request.table, Overwrite(dynamic=True))

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            answer = pickle.dumps(WrittenFiles(task.run(batches)))
            yield pa.RecordBatch.from_pydict({"message": pa.array([answer], pa.binary())})

        source = self.jvm.new(f"{_PYTHON}.UserDefinedPythonDataSource", _wrap_function(self.jvm.context, _Target))
        function, none = self.jvm.pickle((write, _ANSWER)), self.jvm.none
        return self.jvm.new(f"{_PYTHON}.PythonBatchWriterFactory", source, function, self._struct, none, none)

    def useCommitCoordinator(self) -> bool:
        return True

    def onDataWriterCommit(self, message: object) -> None:
        pass

    def commit(self, answers: Sequence[JavaObject], *summary: object) -> None:
        messages = _messages(answers)
        overwrite = self._request.overwrite
        assert overwrite is not None
        if overwrite.dynamic and not messages:
            return
        with Transaction(self._request.table) as transaction:
            self._committed = True
            transaction.staged.add(messages)
            compacted = compact_due(self._request.table, messages, SparkExecutor(self.jvm), overwrite)
            operations.overwrite(
                transaction,
                [*messages, *compacted],
                lambda latest: overwritten(self._request.table, latest, overwrite, messages),
            )
        cached_tables.renew(self.session)

    def abort(self, answers: Sequence[JavaObject | None]) -> None:
        # After the commit has begun, only its transaction decides whether files are deleted.
        if not self._committed:
            with StagedFiles(self._request.table) as staged:
                staged.add(_messages(a for a in answers if a is not None))

    class Java:
        implements = [f"{CONNECTOR}.write.RequiresDistributionAndOrdering", f"{CONNECTOR}.write.BatchWrite"]


def _messages(answers: Iterable[JavaObject]) -> list[CommitMessage]:
    return [m for a in answers for m in pickle.loads(bytes(a.pickledMessage())).messages if not m.is_empty()]

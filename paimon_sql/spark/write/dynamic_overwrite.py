"""Dynamic overwrite: Spark supports it only for batch writes, so tasks write the rows and the driver commits them.

Rows are clustered by partition first, so that one task owns all buckets of a partition.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import BinaryType, StructField, StructType
from pyspark.sql.udf import _wrap_function

from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import WriteInterface
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.run import compact_due
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite, overwritten
from paimon_sql.storage.staging.staged_files import StagedFiles
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write

_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python"
_ANSWER = StructType([StructField("message", BinaryType(), False)])


@dataclass
class WrittenFiles(WriterCommitMessage):
    """The files that one task wrote."""

    messages: list[CommitMessage]


class _Target(DataSource):
    """The data source that Spark requires of a writer; none of its methods is called."""


class DynamicOverwriteProxy(WriteInterface):
    """A write that replaces the partitions of its rows, or those of the statement's own overwrite."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, struct: Any, overwrite: Overwrite) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._struct = struct
        self._overwrite = overwrite
        self._committed = False

    def toString(self) -> str:
        return f"paimon {self.table.name}, dynamic overwrite"

    def toBatch(self) -> Any:
        return self

    def requiredDistribution(self) -> Any:
        columns = [reference_to(self.jvm, name) for name in self.table.schema.partition_keys]
        clusters = self.jvm.array(f"{CONNECTOR}.expressions.Expression", columns)
        return self.jvm.cls(f"{CONNECTOR}.distributions.Distributions").clustered(clusters)

    def distributionStrictlyRequired(self) -> bool:
        return True

    def requiredNumPartitions(self) -> int:
        return 0

    def advisoryPartitionSizeInBytes(self) -> int:
        return 0

    def requiredOrdering(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.SortOrder")

    def createBatchWriterFactory(self, info: Any) -> Any:
        task = plan_write(self.table, Overwrite(dynamic=True))

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            answer = pickle.dumps(WrittenFiles(task.run(batches)))
            yield pa.RecordBatch.from_pydict({"message": pa.array([answer], pa.binary())})

        source = self.jvm.new(f"{_PYTHON}.UserDefinedPythonDataSource", _wrap_function(self.jvm.context, _Target))
        function, none = self.jvm.pickle((write, _ANSWER)), self.jvm.none
        return self.jvm.new(f"{_PYTHON}.PythonBatchWriterFactory", source, function, self._struct, none, none)

    def useCommitCoordinator(self) -> bool:
        return True

    def onDataWriterCommit(self, message: Any) -> None:
        pass

    def commit(self, answers: Any, *summary: Any) -> None:
        messages = _messages(answers)
        overwrite = self._overwrite
        if overwrite.dynamic and not messages:
            return
        with Transaction(self.table) as transaction:
            self._committed = True
            transaction.staged.add(messages)
            compacted = compact_due(self.table, messages, SparkExecutor(self.jvm), overwrite)
            operations.overwrite(
                transaction,
                [*messages, *compacted],
                lambda latest: overwritten(self.table, latest, overwrite, messages),
            )
        cached_tables.renew(self.jvm, self.session)

    def abort(self, answers: Any) -> None:
        # After the commit has begun, only its transaction decides whether files are deleted.
        if not self._committed:
            with StagedFiles(self.table) as staged:
                staged.add(_messages(a for a in answers if a is not None))

    class Java:
        implements = [f"{CONNECTOR}.write.RequiresDistributionAndOrdering", f"{CONNECTOR}.write.BatchWrite"]


def _messages(answers: Iterable[Any]) -> list[CommitMessage]:
    return [m for a in answers for m in pickle.loads(bytes(a.pickledMessage())).messages if not m.is_empty()]

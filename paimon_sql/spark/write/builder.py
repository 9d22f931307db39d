"""Write builder: Spark's V1 write of a statement's rows, dynamic overwrite, or streaming write."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.operations.commit import DYNAMIC_PARTITION_OVERWRITE
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import WriteInterface
from paimon_sql.spark.expressions.connector_predicates import partition_condition
from paimon_sql.spark.jvm.gateway import CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.options.ineffective import warn_of_ineffective
from paimon_sql.spark.options.write import write_options
from paimon_sql.spark.write.dynamic_overwrite import DynamicOverwriteProxy
from paimon_sql.spark.write.job import run_write
from paimon_sql.spark.write.stream_sink import StreamingWriteProxy
from paimon_sql.storage.branches.management import moved_to_branch
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table

_DYNAMIC = DYNAMIC_PARTITION_OVERWRITE.key


class WriteBuilderProxy(JavaObject):
    """Builder of a statement's write: append, or overwrite of all rows, some partitions, or those of the rows.

    Args:
        jvm: the JVM.
        table: the table.
        session: the JVM's session.
        info: Spark's ``LogicalWriteInfo``.
        called: the table's name in Spark, beginning with the catalog; empty if its catalog does not have it yet.
    """

    def __init__(self, jvm: Jvm, table: Table, session: Any, info: Any, called: tuple[str, ...] = ()) -> None:
        super().__init__(jvm)
        given = write_options(jvm, table, info.options())
        warn_of_ineffective(session, given)
        self.table = moved_to_branch(table, given, writes=True).with_options(given)
        self.session = session
        self._struct = info.schema()
        self._stream = info.queryId()
        self._called = called
        self._overwrite: Overwrite | None = None
        self._is_batch = False
        self._dynamic = self.table.options.get(DYNAMIC_PARTITION_OVERWRITE) if _DYNAMIC in given else None

    def build(self) -> V1WriteProxy | DynamicOverwriteProxy:
        overwrite = self._overwrite
        if overwrite is not None and self._dynamic is not None and self.table.schema.partition_keys:
            # The statement's own option overrides Spark's partitionOverwriteMode.
            overwrite = Overwrite(None if self._dynamic else overwrite.partitions, self._dynamic)
        if overwrite is not None and self._is_batch:
            return DynamicOverwriteProxy(self.jvm, self.table, self.session, self._struct, overwrite)
        return V1WriteProxy(self.jvm, self.table, self.session, overwrite, self._stream, self._called)

    def buildForBatch(self) -> Any:
        raise UnsupportedError("A V1 write has no batch form.")

    def buildForStreaming(self) -> Any:
        raise UnsupportedError("A V1 write has no streaming form of its own.")

    def truncate(self) -> WriteBuilderProxy:
        self._overwrite = Overwrite()
        return self

    def canOverwrite(self, filters: Any) -> bool:
        return True

    def overwrite(self, filters: Any) -> WriteBuilderProxy:
        self._overwrite = Overwrite(partition_condition(self.table, filters))
        return self

    def overwriteDynamicPartitions(self) -> WriteBuilderProxy:
        self._overwrite = Overwrite(dynamic=True)
        self._is_batch = True
        return self

    class Java:
        implements = [f"{CONNECTOR}.write.SupportsOverwrite", f"{CONNECTOR}.write.SupportsDynamicOverwrite"]


class V1WriteProxy(WriteInterface):
    """A write that Spark executes as one call with the statement's rows (Spark: ``V1Write``)."""

    def __init__(
        self,
        jvm: Jvm,
        table: Table,
        session: Any,
        overwrite: Overwrite | None,
        query: str | None,
        called: tuple[str, ...],
    ) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._overwrite = overwrite
        self._query = query
        self._called = called

    def toString(self) -> str:
        return f"paimon {self.table.name}"

    def toStreaming(self) -> StreamingWriteProxy:
        if self._query is None:
            raise UnsupportedError("A table that a statement is making takes no stream.")
        return StreamingWriteProxy(self.jvm, self.table, self.session, self._overwrite, self._query, self._called)

    def toInsertableRelation(self) -> InsertableProxy:
        return InsertableProxy(self.jvm, self.table, self.session, self._overwrite)


class InsertableProxy(JavaObject):
    """The relation into which Spark inserts the rows."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, overwrite: Overwrite | None) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._overwrite = overwrite

    def insert(self, frame: Any, overwrite: bool) -> None:
        session = SparkSession(self.jvm.context, self.session)
        with Transaction(self.table) as transaction:
            run_write(self.jvm, transaction, DataFrame(frame, session), self._overwrite)
        cached_tables.renew(self.jvm, self.session)

    class Java:
        implements = ["org.apache.spark.sql.sources.InsertableRelation"]

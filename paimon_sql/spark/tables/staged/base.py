"""Staged tables: created or replaced together with their rows (CREATE TABLE AS SELECT, REPLACE TABLE).

The rows are written to staged files of the statement's transaction, which commits when Spark commits the table. A new
table is created at once, and dropped if its rows are certainly not committed; a replaced one is unchanged until the
commit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.jvm.gateway import CATALOG, JavaObject, Jvm
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.tables.staged.successor import Successor
from paimon_sql.spark.write.builder import V1WriteProxy, WriteBuilderProxy
from paimon_sql.spark.write.job import write_rows
from paimon_sql.storage.commit.transaction import Outcome, Transaction
from paimon_sql.storage.compact.run import compact_due
from paimon_sql.storage.operations import operations
from paimon_sql.storage.operations.replace_table import replace_table, replacement
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.staging.table_identity import is_same_table
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write


class StagedTableProxy(TableProxy):
    """A table whose statement is not committed yet; subclasses implement the commit.

    Class attributes:
        overwrite: the rows to replace; None appends.
    """

    overwrite: ClassVar[Overwrite | None] = None

    def __init__(self, jvm: Jvm, table: Table, session: Any, catalog: Catalog, identifier: Identifier) -> None:
        super().__init__(jvm, table, session)
        self.catalog = catalog
        self.identifier = identifier
        self.transaction = Transaction(table)
        self.messages: list[CommitMessage] = []

    def _is_like(self, other: SchemaTable) -> bool:
        return False

    def newWriteBuilder(self, info: Any) -> WriteBuilderProxy:
        builder = StagedWriteBuilder(self.jvm, self, info)
        self.transaction = Transaction(builder.table)  # the options of the write apply to its commit
        return builder

    def write(self, rows: DataFrame) -> None:
        """Write rows to staged files."""
        task = plan_write(self.transaction.table, self.overwrite)
        self.messages += self.transaction.staged.own(write_rows(self.jvm, task, rows))
        if self.overwrite is None:
            self.transaction.require(*task.validations(self.messages))

    def abortStagedChanges(self) -> None:
        self.transaction.close()

    def all_messages(self) -> list[CommitMessage]:
        """The messages of the written rows and of the compactions that are due after them."""
        compacted = compact_due(self.transaction.table, self.messages, SparkExecutor(self.jvm), self.overwrite)
        return [*self.messages, *self.transaction.staged.own(compacted)]

    class Java:
        implements = [*TableProxy.Java.implements, f"{CATALOG}.StagedTable"]


class CreatedTableProxy(StagedTableProxy):
    """A table that this statement has created, and drops if the statement fails.

    Args:
        jvm: the JVM.
        table: the table.
        session: the session.
        catalog: the table's catalog.
        identifier: its name.
        successor: replaces another table by this one after the rows are committed.
    """

    def __init__(
        self,
        jvm: Jvm,
        table: Table,
        session: Any,
        catalog: Catalog,
        identifier: Identifier,
        successor: Successor | None = None,
    ) -> None:
        super().__init__(jvm, table, session, catalog, identifier)
        self._successor = successor

    def commitStagedChanges(self) -> None:
        with self.transaction:
            if self.messages:
                operations.append(self.transaction, self.all_messages())
        if self._successor is not None:
            self._successor.commit()
            cached_tables.renew(self.jvm, self.session)

    def abortStagedChanges(self) -> None:
        super().abortStagedChanges()
        if self._successor is not None:
            self._successor.abort()
            return
        table = self.transaction.table
        # Concurrent writers may have committed rows, or a commit with unknown outcome may have succeeded.
        if self.transaction.outcome is Outcome.NOT_COMMITTED and is_same_table(table) and not _has_rows(table):
            self.catalog.drop_table(self.identifier)


class ReplacedTableProxy(StagedTableProxy):
    """A table whose definition and rows are replaced; readers see no change before the commit.

    Args:
        jvm: the JVM.
        old: the existing table.
        schema: its new definition, as of a new table.
        session: the session.
        catalog: the table's catalog.
        identifier: its name.

    Raises:
        InvalidSchemaError: the partition columns change.
    """

    overwrite = Overwrite()

    def __init__(
        self, jvm: Jvm, old: Table, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> None:
        super().__init__(jvm, replace(old, schema=replacement(old, schema)), session, catalog, identifier)
        self._old = old

    def commitStagedChanges(self) -> None:
        with self.transaction:
            replace_table(self.transaction, self._old, self.all_messages())
        cached_tables.renew(self.jvm, self.session)


class StagedWriteBuilder(WriteBuilderProxy):
    """Builder of the write into a staged table."""

    def __init__(self, jvm: Jvm, target: StagedTableProxy, info: Any) -> None:
        super().__init__(jvm, target.table, target.session, info)
        self._target = target

    def build(self) -> StagedWriteProxy:
        return StagedWriteProxy(self.jvm, self._target, self.table)


class StagedWriteProxy(V1WriteProxy):
    """A write to staged files, which the statement commits."""

    def __init__(self, jvm: Jvm, target: StagedTableProxy, table: Table) -> None:
        super().__init__(jvm, table, target.session, None, None, ())
        self._target = target

    def toInsertableRelation(self) -> Any:
        return StagedInsertableProxy(self.jvm, self._target)


class StagedInsertableProxy(JavaObject):
    """The relation into which Spark inserts the rows."""

    def __init__(self, jvm: Jvm, target: StagedTableProxy) -> None:
        super().__init__(jvm)
        self._target = target

    def insert(self, frame: Any, overwrite: bool) -> None:
        self._target.write(DataFrame(frame, SparkSession(self.jvm.context, self._target.session)))

    class Java:
        implements = ["org.apache.spark.sql.sources.InsertableRelation"]


def _has_rows(table: Table) -> bool:
    """Whether the table has a snapshot; true if its directory cannot be read."""
    try:
        return table.snapshots.latest_id() is not None
    except (PaimonError, OSError):
        return True

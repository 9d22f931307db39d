"""Tables that a statement makes together with their rows: CREATE TABLE .. AS SELECT and REPLACE TABLE.

A table that is new is created at once and dropped again if its rows cannot be written. One that is replaced keeps what
it holds until the new rows stand in files; then it is emptied, redefined and filled in one go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CommitUnknownError, PaimonError
from paimon_sql.format.schema import TableSchema
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.java import CATALOG, JavaObject, Jvm
from paimon_sql.spark.table import TableProxy
from paimon_sql.spark.write import V1WriteProxy, WriteBuilderProxy
from paimon_sql.spark.write_job import write_rows
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.compact.run import compact_due
from paimon_sql.storage.replace_table import clear_and_redefine, discard, replacement
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.task import plan_write


class StagedTableProxy(TableProxy):
    """A table whose statement is not over yet; its children say what commit and abort do."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, catalog: Catalog, identifier: Identifier) -> None:
        super().__init__(jvm, table, session)
        self.catalog = catalog
        self.identifier = identifier

    class Java:
        implements = [*TableProxy.Java.implements, f"{CATALOG}.StagedTable"]


class CreatedTableProxy(StagedTableProxy):
    """A table that this statement has created; without its rows it goes again."""

    def commitStagedChanges(self) -> None:
        pass

    def abortStagedChanges(self) -> None:
        self.catalog.drop_table(self.identifier)


class ReplacedTableProxy(StagedTableProxy):
    """A table that gets another definition and other rows; before the commit nobody sees anything of it.

    Args:
        jvm: the JVM.
        old: the table as it is.
        schema: its new definition, as of a new table.
        session: the session.
        catalog: the table's catalog.
        identifier: its name.

    Raises:
        InvalidSchemaError: the partition columns change.
    """

    def __init__(
        self, jvm: Jvm, old: Table, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> None:
        super().__init__(jvm, replace(old, schema=replacement(old.schema, schema)), session, catalog, identifier)
        self._old = old
        self._messages: list[CommitMessage] = []

    def newWriteBuilder(self, info: Any) -> WriteBuilderProxy:
        return StagedWriteBuilder(self.jvm, self.table, self.session, info, self._messages)

    def commitStagedChanges(self) -> None:
        try:
            clear_and_redefine(self._old, self.table.schema)
        except PaimonError:
            self.abortStagedChanges()
            raise
        table = self.catalog.table(self.identifier)
        compacted = compact_due(table, self._messages, SparkExecutor(self.jvm))
        try:
            Committer(table).append([*self._messages, *compacted])
        except CommitUnknownError:
            self._messages.clear()  # they may be committed, so nothing may be aborted
            raise

    def abortStagedChanges(self) -> None:
        discard(self.table, self._messages)


class StagedWriteBuilder(WriteBuilderProxy):
    """Builds the write that fills a table which is not there yet."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, info: Any, messages: list[CommitMessage]) -> None:
        super().__init__(jvm, table, session, info)
        self._messages = messages

    def build(self) -> StagedWriteProxy:
        return StagedWriteProxy(self.jvm, self.table, self.session, self._messages)


class StagedWriteProxy(V1WriteProxy):
    """A write whose files wait for the statement's commit."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, messages: list[CommitMessage]) -> None:
        super().__init__(jvm, table, session, None, None)
        self._messages = messages

    def toInsertableRelation(self) -> Any:
        return StagedInsertableProxy(self.jvm, self.table, self.session, self._messages)


class StagedInsertableProxy(JavaObject):
    """What Spark calls with the rows."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, messages: list[CommitMessage]) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._messages = messages

    def insert(self, frame: Any, overwrite: bool) -> None:
        rows = DataFrame(frame, SparkSession(self.jvm.context, self.session))
        self._messages += write_rows(self.jvm, plan_write(self.table, overwrite=True), rows)

    class Java:
        implements = ["org.apache.spark.sql.sources.InsertableRelation"]

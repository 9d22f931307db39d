"""Staged format tables: created or replaced together with their rows (CREATE TABLE AS SELECT, REPLACE TABLE)."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.tables.format_tables.table import FormatTableProxy
from paimon_sql.spark.tables.format_tables.write import FormatWrite, FormatWriteBuilder
from paimon_sql.spark.tables.staged.successor import Successor
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import discard
from paimon_sql.storage.format_tables.replacement import replace_table


class CreatedFormatTable(FormatTableProxy):
    """A format table that this statement has created, and drops if the statement fails.

    Args:
        jvm: the JVM.
        table: the table.
        session: the JVM's session.
        catalog: the table's catalog.
        identifier: its name.
        successor: replaces another table by this one after the rows are written.
    """

    def __init__(
        self,
        jvm: Jvm,
        table: FormatTable,
        session: Any,
        catalog: Catalog,
        identifier: Identifier,
        successor: Successor | None = None,
    ) -> None:
        super().__init__(jvm, table, session, writes=True)
        self.catalog = catalog
        self.identifier = identifier
        self._successor = successor

    def commitStagedChanges(self) -> None:
        if self._successor is not None:
            self._successor.commit()
            cached_tables.renew(self.jvm, self.session)

    def abortStagedChanges(self) -> None:
        if self._successor is not None:
            self._successor.abort()
        else:
            self.catalog.drop_table(self.identifier)

    class Java:
        implements = [*FormatTableProxy.Java.implements, f"{CATALOG}.StagedTable"]


class ReplacedFormatTable(FormatTableProxy):
    """A format table whose definition and files are replaced; readers see no change before the commit.

    Args:
        jvm: the JVM.
        old: the existing table.
        table: the table with its new definition.
        session: the JVM's session.
    """

    def __init__(self, jvm: Jvm, old: FormatTable, table: FormatTable, session: Any) -> None:
        super().__init__(jvm, table, session, writes=True)
        self._old = old
        self._staged: list[str] = []

    def newWriteBuilder(self, info: Any) -> FormatWriteBuilder:
        return _StagedWriteBuilder(self.jvm, self._under(info.options()), self.session, info, self._staged)

    def commitStagedChanges(self) -> None:
        try:
            replace_table(self._old, self.table, self._staged[0] if self._staged else None)
        except BaseException:
            self.abortStagedChanges()
            raise

    def abortStagedChanges(self) -> None:
        for staging in self._staged:
            discard(self.table, staging)

    class Java:
        implements = [*FormatTableProxy.Java.implements, f"{CATALOG}.StagedTable"]


class _StagedWriteBuilder(FormatWriteBuilder):
    """Builder of the write into a table that is not visible yet."""

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any, info: Any, staged: list[str]) -> None:
        super().__init__(jvm, table, session, info)
        self._staged = staged

    def build(self) -> FormatWrite:
        return _StagedWrite(self.jvm, self.table, self.session, self._struct, self._staged)


class _StagedWrite(FormatWrite):
    """A write whose files are published by the statement's commit."""

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any, struct: Any, staged: list[str]) -> None:
        super().__init__(jvm, table, session, struct, None)
        self._staged = staged

    def _publish(self) -> None:
        self._staged.append(self._staging)

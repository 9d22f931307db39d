"""How Spark sees the tables of each kind: one small class a kind, found by the option ``type``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.tables.format_tables.staged import CreatedFormatTable, ReplacedFormatTable
from paimon_sql.spark.tables.format_tables.table import FormatTableProxy
from paimon_sql.spark.tables.query_auth import QueryAuthTableProxy
from paimon_sql.spark.tables.staged.base import CreatedTableProxy, ReplacedTableProxy
from paimon_sql.spark.tables.staged.successor import Successor
from paimon_sql.storage.format_tables.replacement import replacement
from paimon_sql.storage.operations.replace_table import keeps_history


class SparkTableType(ABC):
    """How Spark sees the tables of one kind.

    Class attributes:
        staged: tables that their statement has created.
    """

    staged: ClassVar[type[CreatedTableProxy | CreatedFormatTable]]

    @abstractmethod
    def proxy(self, jvm: Jvm, table: Any, session: Any, *, writes: bool = False) -> SchemaTable:
        """A table as Spark's ``Table``; ``writes`` says that the statement writes into it."""

    def created(
        self,
        jvm: Jvm,
        table: Any,
        session: Any,
        catalog: Catalog,
        identifier: Identifier,
        successor: Successor | None = None,
    ) -> SchemaTable:
        """A table that its statement has created and is to fill, as Spark's ``StagedTable``.

        Args:
            successor: takes another table's place once it is filled.
        """
        return self.staged(jvm, table, session, catalog, identifier, successor)

    @abstractmethod
    def keeps_history(self, old: Any, schema: TableSchema) -> bool:
        """Whether a table can have another definition and other rows, of its own kind, and keep what it was."""

    @abstractmethod
    def replaced(
        self, jvm: Jvm, old: Any, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> SchemaTable:
        """A table that its statement gives another definition and other rows, as Spark's ``StagedTable``.

        Raises:
            InvalidInputError: it cannot have that definition.
        """


class _Snapshots(SparkTableType):
    staged = CreatedTableProxy

    def proxy(self, jvm: Jvm, table: Any, session: Any, *, writes: bool = False) -> SchemaTable:
        return (TableProxy if table.guard is None else QueryAuthTableProxy)(jvm, table, session)

    def keeps_history(self, old: Any, schema: TableSchema) -> bool:
        return keeps_history(old.schema, schema)

    def replaced(
        self, jvm: Jvm, old: Any, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> SchemaTable:
        return ReplacedTableProxy(jvm, old, schema, session, catalog, identifier)


class _PlainFiles(SparkTableType):
    staged = CreatedFormatTable

    def proxy(self, jvm: Jvm, table: Any, session: Any, *, writes: bool = False) -> SchemaTable:
        return FormatTableProxy(jvm, table, session, writes=writes)

    def keeps_history(self, old: Any, schema: TableSchema) -> bool:
        return True

    def replaced(
        self, jvm: Jvm, old: Any, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> SchemaTable:
        return ReplacedFormatTable(jvm, old, replacement(old, schema, catalog.options), session)


_KINDS: dict[str, SparkTableType] = {"format-table": _PlainFiles()}
_SNAPSHOTS = _Snapshots()


def in_spark(table: AnyTable) -> SparkTableType:
    """How Spark sees a table."""
    return _KINDS.get(table.options.get(TYPE), _SNAPSHOTS)

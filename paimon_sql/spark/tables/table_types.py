"""Table types in Spark: one small class per type, found by the option ``type``."""

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
    """The proxies of the tables of one type.

    Class attributes:
        staged: the proxy of a table that its statement has created.
    """

    staged: ClassVar[type[CreatedTableProxy | CreatedFormatTable]]

    @abstractmethod
    def proxy(self, jvm: Jvm, table: Any, session: Any, *, writes: bool = False) -> SchemaTable:
        """The proxy of a table (Spark: ``Table``); ``writes`` if the statement writes into it."""

    def created(
        self,
        jvm: Jvm,
        table: Any,
        session: Any,
        catalog: Catalog,
        identifier: Identifier,
        successor: Successor | None = None,
    ) -> SchemaTable:
        """The proxy of a table that its statement has created and will fill (Spark: ``StagedTable``).

        Args:
            successor: replaces another table by this one after the rows are written.
        """
        return self.staged(jvm, table, session, catalog, identifier, successor)

    @abstractmethod
    def keeps_history(self, old: Any, schema: TableSchema) -> bool:
        """Whether a table of the type keeps its history if its definition is replaced by a schema of the same type."""

    @abstractmethod
    def replaced(
        self, jvm: Jvm, old: Any, schema: TableSchema, session: Any, catalog: Catalog, identifier: Identifier
    ) -> SchemaTable:
        """The proxy of a table whose definition and rows its statement replaces (Spark: ``StagedTable``).

        Raises:
            InvalidInputError: the table cannot have that definition.
        """


class _Snapshots(SparkTableType):
    staged = CreatedTableProxy

    def proxy(self, jvm: Jvm, table: Any, session: Any, *, writes: bool = False) -> SchemaTable:
        return (TableProxy if table.query_auth is None else QueryAuthTableProxy)(jvm, table, session)

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


_TYPES: dict[str, SparkTableType] = {"format-table": _PlainFiles()}
_WITH_SNAPSHOTS = _Snapshots()


def in_spark(table: AnyTable) -> SparkTableType:
    """Return the type of a table, which makes its proxies."""
    return _TYPES.get(table.options.get(TYPE), _WITH_SNAPSHOTS)

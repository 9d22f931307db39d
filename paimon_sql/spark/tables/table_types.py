"""Tables of the catalog in Spark: one small class per type of table makes its proxies."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import QueryAuthTableProxy, TableProxy
from paimon_sql.spark.tables.format_tables.format_table import CreatedFormatTable, FormatTableProxy, ReplacedFormatTable
from paimon_sql.spark.tables.staged_table import CreatedTableProxy, ReplacedTableProxy, Successor
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import replacement
from paimon_sql.storage.operations.replace_table import keeps_history
from paimon_sql.storage.operations.replace_table import replacement as replaced_schema
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class TableWithSnapshots:
    """A table with snapshots; ``written`` is the state that writes change, by default the table itself."""

    session: JvmSession
    table: Table
    written: Table | None = None

    def proxy(self, *, writes: bool = False) -> SchemaTable:
        """The proxy of the table (Spark: ``Table``); ``writes`` if the statement writes into it."""
        kind = TableProxy if self.table.query_auth is None else QueryAuthTableProxy
        proxy = kind(self.session, self.table)
        proxy.written = self.written or self.table
        return proxy

    def created(self, catalog: Catalog, identifier: Identifier, successor: Successor | None = None) -> SchemaTable:
        """The proxy of a table that its statement has created and will fill (Spark: ``StagedTable``).

        Args:
            catalog: the table's catalog.
            identifier: its name.
            successor: replaces another table by this one after the rows are written.
        """
        return CreatedTableProxy(self.session, self.table, catalog, identifier, successor)

    def keeps_history(self, schema: TableSchema) -> bool:
        """Whether the table keeps its history if its definition is replaced by a schema of the same type."""
        return keeps_history(self.table.schema, schema)

    def replaced(self, schema: TableSchema, catalog: Catalog, identifier: Identifier) -> SchemaTable:
        """The proxy of the table whose definition and rows its statement replaces (Spark: ``StagedTable``).

        Raises:
            InvalidInputError: the table cannot have that definition.
        """
        table = replace(self.table, schema=replaced_schema(self.table, schema))
        return ReplacedTableProxy(self.session, table, catalog, identifier, self.table)


@dataclass(frozen=True)
class PlainFiles:
    """A format table; see `TableWithSnapshots`."""

    session: JvmSession
    table: FormatTable

    def proxy(self, *, writes: bool = False) -> SchemaTable:
        return FormatTableProxy(self.session, self.table, writes=writes)

    def created(self, catalog: Catalog, identifier: Identifier, successor: Successor | None = None) -> SchemaTable:
        return CreatedFormatTable(self.session, self.table, catalog, identifier, successor)

    def keeps_history(self, schema: TableSchema) -> bool:
        return True

    def replaced(self, schema: TableSchema, catalog: Catalog, identifier: Identifier) -> SchemaTable:
        return ReplacedFormatTable(self.session, replacement(self.table, schema, catalog.options), self.table)


def in_spark(session: JvmSession, table: AnyTable) -> TableWithSnapshots | PlainFiles:
    """The table in a session."""
    return PlainFiles(session, table) if isinstance(table, FormatTable) else TableWithSnapshots(session, table)

"""The table that a statement changes, as Spark's rules for row-level operations see it.

Those rules turn UPDATE, DELETE and MERGE into a query for the rows that change: they line assignments up with columns,
put in default values and casts, and refuse what Spark refuses. They ask the table only which columns tell one row from
another; the writer that they would ask for next is never built, as the query alone is taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.hidden_column import hidden_columns
from paimon_sql.spark.java import CATALOG, CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.scan_builder import ScanBuilderProxy
from paimon_sql.spark.table import TableProxy
from paimon_sql.storage.read.hidden_columns import hidden_fields
from paimon_sql.storage.table import Table


class TargetProxy(TableProxy):
    """A table whose rows are told apart by some columns, hidden ones perhaps."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, row_id: tuple[str, ...]) -> None:
        super().__init__(jvm, table, session)
        self._row_id = row_id

    def metadataColumns(self) -> Any:
        # What tells rows apart must not be null for Spark.
        fields = [
            replace(f, type=f.type.as_nullable(False)) if f.name in self._row_id else f
            for f in hidden_fields(self.table.schema)
        ]
        return hidden_columns(self.jvm, fields)

    def newRowLevelOperationBuilder(self, info: Any) -> OperationProxy:
        return OperationProxy(self.jvm, self.table, self.session, self._row_id, info.command())

    class Java:
        # Not one that can be truncated: a DELETE without a condition is to be rewritten as any other.
        implements = [
            f"{CATALOG}.SupportsRead",
            f"{CATALOG}.SupportsWrite",
            f"{CATALOG}.SupportsMetadataColumns",
            f"{CATALOG}.SupportsRowLevelOperations",
        ]


class OperationProxy(JavaObject):
    """One statement's operation on a table, and its builder."""

    def __init__(self, jvm: Jvm, table: Table, session: Any, row_id: tuple[str, ...], command: Any) -> None:
        super().__init__(jvm)
        self._table = table
        self._session = session
        self._row_id = row_id
        self._command = command

    def build(self) -> OperationProxy:
        return self

    def toString(self) -> str:
        return f"changes of {self._table.name}"

    def description(self) -> str:
        return self.toString()

    def command(self) -> Any:
        return self._command

    def newScanBuilder(self, options: Any) -> ScanBuilderProxy:
        return ScanBuilderProxy(self.jvm, self._table, self._session)

    def newWriteBuilder(self, info: Any) -> Any:
        raise UnsupportedError(f"{self._table.name}: changes are written by the statement itself.")

    def requiredMetadataAttributes(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.NamedReference")

    def rowId(self) -> Any:
        expressions = self.jvm.cls(f"{CONNECTOR}.expressions.Expressions")
        columns = [expressions.column(name) for name in self._row_id]
        return self.jvm.array(f"{CONNECTOR}.expressions.NamedReference", columns)

    def representUpdateAsDeleteAndInsert(self) -> bool:
        return False

    class Java:
        implements = [f"{CONNECTOR}.write.SupportsDelta", f"{CONNECTOR}.write.RowLevelOperationBuilder"]

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
from paimon_sql.storage.predicates import Predicate, all_of
from paimon_sql.storage.read.hidden_columns import hidden_fields
from paimon_sql.storage.table import Table


class TargetProxy(TableProxy):
    """A table whose rows are told apart by some columns, hidden ones perhaps.

    Attributes:
        scan: the scan of the table that was built last.
    """

    def __init__(self, jvm: Jvm, table: Table, session: Any, row_id: tuple[str, ...]) -> None:
        super().__init__(jvm, table, session)
        self._row_id = row_id
        self.scan: TargetScanProxy | None = None

    def metadataColumns(self) -> Any:
        # What tells rows apart must not be null for Spark.
        fields = [
            replace(f, type=f.type.as_nullable(False)) if f.name in self._row_id else f
            for f in hidden_fields(self.table.schema)
        ]
        return hidden_columns(self.jvm, fields)

    def newRowLevelOperationBuilder(self, info: Any) -> OperationProxy:
        return OperationProxy(self.jvm, self, self._row_id, info.command())

    def newScanBuilder(self, options: Any) -> TargetScanProxy:
        self.scan = TargetScanProxy(self.jvm, self.table, self.session)
        return self.scan

    class Java:
        # Not one that can be truncated: a DELETE without a condition is to be rewritten as any other.
        implements = [
            f"{CATALOG}.SupportsRead",
            f"{CATALOG}.SupportsWrite",
            f"{CATALOG}.SupportsMetadataColumns",
            f"{CATALOG}.SupportsRowLevelOperations",
        ]


class TargetScanProxy(ScanBuilderProxy):
    """Builds the scan of the target, and remembers whether its conditions are all about partitions."""

    def __init__(self, jvm: Jvm, table: Table, session: Any) -> None:
        super().__init__(jvm, table, session)
        self.takes_whole_partitions = True

    def pushFilters(self, expressions: Any) -> Any:
        known = len(self._predicates)
        left = super().pushFilters(expressions)
        read = self._predicates[known:]
        keys = set(self.table.schema.partition_keys)
        exact = [p for p in read if p.is_exact and p.columns() <= keys]
        self.takes_whole_partitions = len(exact) == expressions.size()
        return left

    @property
    def predicate(self) -> Predicate | None:
        """The conditions that it was given, as far as they could be read."""
        return all_of(self._predicates)


class OperationProxy(JavaObject):
    """One statement's operation on a table, and its builder."""

    def __init__(self, jvm: Jvm, target: TargetProxy, row_id: tuple[str, ...], command: Any) -> None:
        super().__init__(jvm)
        self._target = target
        self._row_id = row_id
        self._command = command

    def build(self) -> OperationProxy:
        return self

    def toString(self) -> str:
        return f"changes of {self._target.table.name}"

    def description(self) -> str:
        return self.toString()

    def command(self) -> Any:
        return self._command

    def newScanBuilder(self, options: Any) -> TargetScanProxy:
        return self._target.newScanBuilder(options)

    def newWriteBuilder(self, info: Any) -> Any:
        raise UnsupportedError(f"{self._target.table.name}: changes are written by the statement itself.")

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

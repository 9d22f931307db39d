"""A MERGE that brings columns which its target lacks: the target gets them first.

It is asked for by ``WITH SCHEMA EVOLUTION`` or the option ``write.merge-schema``. A ``*`` then means the columns of the
source: others keep their values in an update and have none in an insert.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.spark import WRITE_MERGE_SCHEMA, WRITE_MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.format.types import DataField, DataType
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.types import paimon_fields
from paimon_sql.sql.scan import quote_name
from paimon_sql.sql.statements import Assignment, MergeClause, MergeInto
from paimon_sql.storage.schema_change import AddColumn, SchemaChange, UpdateColumnType, apply_changes
from paimon_sql.storage.schema_change.promotions import Promotion
from paimon_sql.storage.table import Table

_SOURCE = "__source"


@dataclass(frozen=True)
class EvolvingMerge:
    """A MERGE under schema evolution, on the way to one that names all of its columns."""

    analyzer: Analyzer
    statement: MergeInto
    table: Table
    case_sensitive: bool

    def columns(self) -> tuple[DataField, ...]:
        """The columns of the source."""
        parsed = self.analyzer.parse(f"{self.statement.ctes} SELECT * FROM {self._source()}")
        struct = self.analyzer.frame(parsed).schema.json()
        return paimon_fields(json.loads(struct))

    def changes(self, source: Sequence[DataField]) -> list[SchemaChange]:
        """What must become of the target's columns."""
        own = {self._folded(f.name): f for f in self.table.schema.fields}
        widens: bool = self.statement.schema_evolution or self.table.options.get(WRITE_MERGE_SCHEMA_TYPE_WIDENING)
        found: list[SchemaChange] = []
        for column in source:
            held = own.get(self._folded(column.name))
            if held is None:
                if self._is_wanted(column.name):
                    found.append(AddColumn((column.name,), column.type.as_nullable()))
            elif widens and self._is_wanted(column.name) and (wider := _wider(held, column.type)) is not None:
                found.append(UpdateColumnType((held.name,), wider))
        return found

    def text(self, source: Sequence[DataField]) -> str:
        """The statement in Spark's grammar, its ``*`` replaced by the columns of the source."""
        s = self.statement
        alias = f" AS {quote_name(s.alias)}" if s.alias else ""
        clauses = " ".join(self._clause(c, source) for c in s.clauses)
        target = ".".join(quote_name(part) for part in s.table)
        return f"{s.ctes} MERGE INTO {target}{alias} USING {self._source()} ON {s.on} {clauses}"

    def _clause(self, clause: MergeClause, source: Sequence[DataField]) -> str:
        condition = f" AND {clause.condition}" if clause.condition else ""
        pairs = clause.assignments
        if clause.action.endswith("*"):
            name = self._source_name()
            pairs = tuple(Assignment((f.name,), f"{name}.{quote_name(f.name)}") for f in source)
        columns = [".".join(quote_name(part) for part in a.column) for a in pairs]
        values = [a.value for a in pairs]
        if clause.action == "DELETE":
            action = "DELETE"
        elif clause.action.startswith("UPDATE"):
            action = f"UPDATE SET {', '.join(f'{c} = {v}' for c, v in zip(columns, values, strict=True))}"
        else:
            action = f"INSERT ({', '.join(columns)}) VALUES ({', '.join(values)})"
        return f"WHEN {clause.rows}{condition} THEN {action}"

    def _source(self) -> str:
        s = self.statement
        if s.source_alias:
            return f"{self._relation()} AS {s.source_alias}"
        return f"{self._relation()} AS {_SOURCE}" if s.source.startswith("(") else s.source

    def _relation(self) -> str:
        source = self.statement.source
        return source if source.startswith("(") else f"(SELECT * FROM {source})"

    def _source_name(self) -> str:
        s = self.statement
        if s.source_alias:
            return s.source_alias.split("(")[0].strip()
        return _SOURCE if s.source.startswith("(") else s.source

    def _is_wanted(self, name: str) -> bool:
        return any(
            c.action.endswith("*") or any(self._folded(a.column[-1]) == self._folded(name) for a in c.assignments)
            for c in self.statement.clauses
        )

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def evolve(
    analyzer: Analyzer, catalog: Catalog, identifier: Identifier, table: Table, statement: Any
) -> tuple[Table, str]:
    """The table with the columns that a statement brings, and the statement's text for it.

    Nothing changes unless it is a MERGE that asks for schema evolution.
    """
    asked = isinstance(statement, MergeInto) and (statement.schema_evolution or table.options.get(WRITE_MERGE_SCHEMA))
    if not asked:
        return table, statement.text
    exact = bool(analyzer.session.sessionState().conf().caseSensitiveAnalysis())
    merge = EvolvingMerge(analyzer, statement, table, exact)
    source = merge.columns()
    changes = merge.changes(source)
    if changes:
        has_data = table.snapshots.latest_id() is not None
        catalog.alter_table(
            identifier, lambda schema: apply_changes(schema, changes, has_data=has_data, case_sensitive=exact)
        )
        evolved = catalog.table(identifier)
        dynamic = {k: v for k, v in table.schema.options.items() if evolved.schema.options.get(k) != v}
        table = evolved.with_options(dynamic)
    return table, merge.text(source)


def _wider(held: DataField, wanted: DataType) -> DataType | None:
    """The wanted type if a column can take it without losing anything; None if it has it, or cannot."""
    target = wanted.as_nullable(held.type.nullable)
    try:
        changed = Promotion(True, True, count()).change((held.name,), held.type, target)
    except InvalidSchemaError:
        return None
    return None if changed.sql() == held.type.sql() else changed

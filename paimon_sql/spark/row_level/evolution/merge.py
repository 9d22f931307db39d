"""MERGE with schema evolution: columns of the source that the target lacks are added to it first.

``WITH SCHEMA EVOLUTION`` or the option ``write.merge-schema`` requests it. ``*`` then means the columns of the source:
an update retains the values of other columns and nested fields, an insert sets them to NULL or their default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.nested_fields import NestedFields
from paimon_sql.spark.row_level.evolution.change import EvolvingChange
from paimon_sql.sql.statements.rows import MergeClause, MergeInto
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.table.table import Table

_SOURCE = "__source"


@dataclass(frozen=True)
class EvolvingMerge(EvolvingChange):
    """A MERGE with schema evolution, to be rewritten to one that names all of its columns."""

    statement: MergeInto

    @cached_property
    def source(self) -> tuple[DataField, ...]:
        """The columns of the source."""
        return self._types(["*"], f"FROM {self._source()}")

    @property
    def widens(self) -> bool:
        return self.statement.schema_evolution or super().widens

    @cached_property
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        clauses = self.statement.clauses
        groups = [self.source] if any(c.action.endswith("*") for c in clauses) else []
        return groups + [(f,) for clause in clauses for f in self._assigned[clause] if f is not None]

    def text(self, target: Table) -> str:
        s = self.statement
        clauses = " ".join(self._clause(c, target) for c in s.clauses)
        return f"{s.ctes} MERGE INTO {self._target()} USING {self._source()} ON {s.on} {clauses}"

    @cached_property
    def _assigned(self) -> dict[MergeClause, list[DataField | None]]:
        clauses = self.statement.clauses
        # Only columns of the source may be new.
        return {c: self._columns(c.assignments, self._scope(c), self.source) for c in clauses}

    def _scope(self, clause: MergeClause) -> str:
        """The FROM clause for the values of a clause."""
        if clause.rows == "MATCHED":
            return f"FROM {self._target()} CROSS JOIN {self._source()}"
        return f"FROM {self._source() if clause.rows == 'NOT MATCHED' else self._target()}"

    def _clause(self, clause: MergeClause, target: Table) -> str:
        condition = f" AND {clause.condition}" if clause.condition else ""
        pairs = self._pairs(clause, target)
        columns = [column for column, _ in pairs]
        values = [value for _, value in pairs]
        if clause.action == "DELETE":
            action = "DELETE"
        elif clause.action.startswith("UPDATE"):
            action = f"UPDATE SET {', '.join(f'{c} = {v}' for c, v in pairs)}"
        else:
            action = f"INSERT ({', '.join(columns)}) VALUES ({', '.join(values)})"
        return f"WHEN {clause.rows}{condition} THEN {action}"

    def _pairs(self, clause: MergeClause, target: Table) -> list[tuple[str, str]]:
        """The columns and values of a clause; values have all fields of their columns."""
        if not clause.action.endswith("*"):
            return self._pairs_of(clause.assignments, self._assigned[clause], target)
        own = {self._folded(f.name): f for f in target.schema.fields}
        nested = NestedFields(self.case_sensitive)
        pairs = []
        updates = clause.action.startswith("UPDATE")
        for f in self.source:
            column = own[self._folded(f.name)]
            value = f"{self._source_name()}.{quote_name(f.name)}"
            old_value = f"{self._target_name()}.{quote_name(column.name)}" if updates else None
            pairs.append((quote_name(column.name), nested.filled(value, f.type, column.type, old_value)))
        if not updates:
            given = {self._folded(f.name) for f in self.source}
            # NULL for a required column fails only if a row is inserted; a missing column would fail the statement.
            missing = [f for name, f in own.items() if name not in given and not f.type.nullable and f.default is None]
            pairs += [(quote_name(f.name), "NULL") for f in missing]
        return pairs

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

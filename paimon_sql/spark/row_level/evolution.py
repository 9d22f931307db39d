"""A MERGE that brings columns which its target lacks: the target gets them first.

It is asked for by ``WITH SCHEMA EVOLUTION`` or the option ``write.merge-schema``. A ``*`` then means the columns of the
source: others, and fields inside columns that the source lacks, keep their values in an update and have none in an
insert.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.errors import AnalysisException

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.spark import (
    WRITE_MERGE_SCHEMA,
    WRITE_MERGE_SCHEMA_EXPLICIT_CAST,
    WRITE_MERGE_SCHEMA_TYPE_WIDENING,
)
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.types import DataField
from paimon_sql.spark.nested_fields import NestedFields
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.sql.scan import quote_name
from paimon_sql.sql.statements import Assignment, MergeClause, MergeInto
from paimon_sql.storage.schema_change import apply_changes
from paimon_sql.storage.schema_change.incoming import IncomingColumns
from paimon_sql.storage.table import Table

_SOURCE = "__source"


@dataclass(frozen=True)
class EvolvingMerge:
    """A MERGE under schema evolution, on the way to one that names all of its columns."""

    analyzer: Analyzer
    statement: MergeInto
    table: Table
    case_sensitive: bool

    @cached_property
    def source(self) -> tuple[DataField, ...]:
        """The columns of the source."""
        return self._types(["*"], f"FROM {self._source()}", self.table.schema.fields)

    def evolved(self, schema: TableSchema, *, has_data: bool) -> TableSchema:
        """The target's definition with what the statement brings; the same object if it has all of it."""
        options = self.table.options
        rules = IncomingColumns(
            self.statement.schema_evolution or options.get(WRITE_MERGE_SCHEMA_TYPE_WIDENING),
            options.get(WRITE_MERGE_SCHEMA_EXPLICIT_CAST),
            self.case_sensitive,
            lenient=True,
        )
        version = schema.id + 1
        for group in self._incoming:
            changes = rules.changes(schema.fields, group)
            changed = apply_changes(schema, changes, has_data=has_data, case_sensitive=self.case_sensitive)
            schema = replace(changed, id=version) if changed is not schema else schema
        return schema

    def text(self, target: Table) -> str:
        """The statement in Spark's grammar, its ``*`` replaced by the columns of the source.

        Args:
            target: the table with what the statement brings.
        """
        s = self.statement
        alias = f" AS {quote_name(s.alias)}" if s.alias else ""
        clauses = " ".join(self._clause(c, target) for c in s.clauses)
        return f"{s.ctes} MERGE INTO {self._target()}{alias} USING {self._source()} ON {s.on} {clauses}"

    @cached_property
    def _incoming(self) -> list[tuple[DataField, ...]]:
        """The columns that clauses assign, as they come: those of the source for a ``*``, and one of each value."""
        clauses = self.statement.clauses
        groups = [self.source] if any(c.action.endswith("*") for c in clauses) else []
        return groups + [(f,) for clause in clauses for f in self._assigned[clause] if f is not None]

    @cached_property
    def _assigned(self) -> dict[MergeClause, list[DataField | None]]:
        """For each assignment of a clause the column that it sets, with the type of its value.

        None stands for what sets no whole column, and for what Spark does not understand, which it will tell itself.
        """
        return {clause: self._columns_of(clause) for clause in self.statement.clauses}

    def _columns_of(self, clause: MergeClause) -> list[DataField | None]:
        own = {self._folded(f.name): f for f in self.table.schema.fields}
        new = {self._folded(f.name): f for f in self.source}
        names = [self._folded(self._column(a) or "") for a in clause.assignments]
        known = [n in own and a.value.upper() != "DEFAULT" for n, a in zip(names, clause.assignments, strict=True)]
        values = [
            f"{a.value} AS {quote_name(own[n].name)}"
            for n, a, is_known in zip(names, clause.assignments, known, strict=True)
            if is_known
        ]
        try:
            typed = iter(self._types(values, self._scope(clause), self.table.schema.fields) if values else ())
        except InvalidInputError:
            return [None] * len(names)
        # Only what the source has may be new: any other name is a mistake.
        return [
            next(typed) if is_known else (None if n in own else new.get(n))
            for n, is_known in zip(names, known, strict=True)
        ]

    def _column(self, assignment: Assignment) -> str | None:
        """The name of the column that is set as a whole; None if a field inside one is."""
        *before, name = assignment.column
        full = [self.statement.alias] if self.statement.alias else list(self.statement.table)
        is_of_target = [self._folded(part) for part in before] == [
            self._folded(p) for p in full[len(full) - len(before) :]
        ]
        return name if is_of_target else None

    def _scope(self, clause: MergeClause) -> str:
        """Where the values of a clause come from."""
        alias = f" AS {quote_name(self.statement.alias)}" if self.statement.alias else ""
        target = f"{self._target()}{alias}"
        if clause.rows == "MATCHED":
            return f"FROM {target} CROSS JOIN {self._source()}"
        return f"FROM {self._source() if clause.rows == 'NOT MATCHED' else target}"

    def _types(self, values: Sequence[str], scope: str, held: Sequence[DataField]) -> tuple[DataField, ...]:
        parsed = self.analyzer.parse(f"{self.statement.ctes} SELECT {', '.join(values)} {scope}")
        try:
            struct = self.analyzer.frame(parsed).schema.json()
        except AnalysisException as error:
            raise InvalidInputError(str(error).split(";\n", 1)[0]) from None
        return NestedFields(self.case_sensitive).incoming(json.loads(struct), held, "the source")

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
        """Columns and the values that they get, with all fields of the columns."""
        own = {self._folded(f.name): f for f in target.schema.fields}
        nested = NestedFields(self.case_sensitive)
        pairs = []
        if clause.action.endswith("*"):
            updates = clause.action.startswith("UPDATE")
            for f in self.source:
                held = own[self._folded(f.name)]
                value = f"{self._source_name()}.{quote_name(f.name)}"
                kept = f"{self._target_name()}.{quote_name(held.name)}" if updates else None
                pairs.append((quote_name(held.name), nested.filled(value, f.type, held.type, kept)))
            if not updates:
                given = {self._folded(f.name) for f in self.source}
                # A row without a value that must be there is refused, and not the statement that may insert none.
                absent = [
                    f for name, f in own.items() if name not in given and not f.type.nullable and f.default is None
                ]
                pairs += [(quote_name(f.name), "NULL") for f in absent]
            return pairs
        for a, came in zip(clause.assignments, self._assigned[clause], strict=True):
            value = a.value
            known = own.get(self._folded(came.name)) if came is not None else None
            if came is not None and known is not None:
                inner = nested.filled("x", came.type, known.type)
                # The value is computed once, whatever it is.
                value = value if inner == "x" else f"element_at(transform(array({value}), x -> {inner}), 1)"
            pairs.append((".".join(quote_name(part) for part in a.column), value))
        return pairs

    def _target(self) -> str:
        return ".".join(quote_name(part) for part in self.statement.table)

    def _target_name(self) -> str:
        return quote_name(self.statement.alias) if self.statement.alias else self._target()

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
    has_data = table.snapshots.latest_id() is not None
    if merge.evolved(table.schema, has_data=has_data) is not table.schema:
        catalog.alter_table(identifier, lambda schema: merge.evolved(schema, has_data=has_data))
        evolved = catalog.table(identifier)
        dynamic = {k: v for k, v in table.schema.options.items() if evolved.schema.options.get(k) != v}
        table = evolved.with_options(dynamic)
    return table, merge.text(table)

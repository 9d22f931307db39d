"""Schema evolution of UPDATE and MERGE: columns and nested fields that the table lacks are added before they run.

``WITH SCHEMA EVOLUTION`` or the option ``write.merge-schema`` requests it. ``*`` then means the columns of the source:
an update retains the values of other columns and nested fields, an insert sets them to NULL or their default.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.engines.spark import (
    WRITE_MERGE_SCHEMA,
    WRITE_MERGE_SCHEMA_EXPLICIT_CAST,
    WRITE_MERGE_SCHEMA_TYPE_WIDENING,
)
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.row_level.changed_rows import Analyzer
from paimon_sql.spark.row_level.target import refusals
from paimon_sql.spark.write.merge_schema import NestedFields
from paimon_sql.sql.statements.rows import Assignment, MergeClause, MergeInto, RowStatement, Update
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.incoming import IncomingColumns
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class EvolvingChange(ABC):
    """A statement with schema evolution, to be rewritten so that its values have all fields of their columns.

    Attributes:
        analyzer: finds the types of values.
        statement: an UPDATE or a MERGE.
        table: the existing table with the options of the statement.
        case_sensitive: whether names that differ only in case are different.
    """

    analyzer: Analyzer
    statement: Update | MergeInto
    table: Table
    case_sensitive: bool

    @property
    @abstractmethod
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        """The columns that the statement sets, in groups that are merged into the schema one after the other."""

    @property
    def widens(self) -> bool:
        """Whether columns are widened to the types of values."""
        return bool(self.table.options.get(WRITE_MERGE_SCHEMA_TYPE_WIDENING))

    @abstractmethod
    def text(self, target: Table) -> str:
        """The rewritten statement in Spark's grammar.

        Args:
            target: the table with the merged schema.
        """

    def evolved(self, schema: TableSchema, *, has_data: bool) -> TableSchema:
        """The schema merged with the statement's columns; the same object if nothing changes."""
        casts = self.table.options.get(WRITE_MERGE_SCHEMA_EXPLICIT_CAST)
        rules = IncomingColumns(self.widens, casts, self.case_sensitive, lenient=True)
        version = schema.id + 1
        for group in self.incoming:
            changes = rules.changes(schema.fields, group)
            changed = apply_changes(schema, changes, has_data=has_data, case_sensitive=self.case_sensitive)
            schema = replace(changed, id=version) if changed is not schema else schema
        return schema

    def _columns(
        self, assignments: Sequence[Assignment], scope: str, new: Sequence[DataField] = ()
    ) -> list[DataField | None]:
        """For each assignment the column that it sets, with the type of its value.

        None if it sets only a field of a column, or is invalid; then Spark raises the error later.

        Args:
            assignments: the assignments.
            scope: the FROM clause for the values.
            new: the columns that the table may get.
        """
        existing = {self._folded(f.name): f for f in self.table.schema.fields}
        others = {self._folded(f.name): f for f in new}
        names = [self._folded(self._column(a) or "") for a in assignments]
        known = [n in existing and a.value.upper() != "DEFAULT" for n, a in zip(names, assignments, strict=True)]
        values = [
            f"{a.value} AS {quote_name(existing[n].name)}"
            for n, a, is_known in zip(names, assignments, known, strict=True)
            if is_known
        ]
        try:
            typed = iter(self._types(values, scope) if values else ())
        except InvalidInputError:
            return [None] * len(names)
        # A name in neither is invalid.
        return [
            next(typed) if is_known else (None if n in existing else others.get(n))
            for n, is_known in zip(names, known, strict=True)
        ]

    def _pairs_of(
        self, assignments: Sequence[Assignment], assigned: Sequence[DataField | None], target: Table
    ) -> list[tuple[str, str]]:
        """The columns and values of assignments; values have all fields of their columns.

        Args:
            assignments: the assignments.
            assigned: their columns, from `_columns`.
            target: the table with the merged schema.
        """
        fields = {self._folded(f.name): f for f in target.schema.fields}
        nested = NestedFields(self.case_sensitive)
        pairs = []
        for a, field in zip(assignments, assigned, strict=True):
            value = a.value
            known = fields.get(self._folded(field.name)) if field is not None else None
            if field is not None and known is not None:
                inner = nested.filled("x", field.type, known.type)
                # A lambda, so that Spark evaluates the value once.
                value = value if inner == "x" else f"element_at(transform(array({value}), x -> {inner}), 1)"
            pairs.append((".".join(quote_name(part) for part in a.column), value))
        return pairs

    def _column(self, assignment: Assignment) -> str | None:
        """The name of the column that is set; None if the assignment sets a field of a column."""
        *qualifier, name = assignment.column
        full = [self.statement.alias] if self.statement.alias else list(self.statement.table)
        is_of_target = [self._folded(part) for part in qualifier] == [
            self._folded(p) for p in full[len(full) - len(qualifier) :]
        ]
        return name if is_of_target else None

    def _types(self, values: Sequence[str], scope: str) -> tuple[DataField, ...]:
        """The columns of a query of values.

        Raises:
            InvalidInputError: Spark cannot analyze it.
        """
        session = self.analyzer.session
        parsed = session.parsed(f"{self.statement.ctes} SELECT {', '.join(values)} {scope}")
        with refusals():
            struct = session.frame(parsed).schema.json()
        existing = self.table.schema.fields
        return NestedFields(self.case_sensitive).incoming(json.loads(struct), existing, "the source")

    def _name(self) -> str:
        """The table's name in the statement's text."""
        return ".".join(quote_name(part) for part in self.statement.table)

    def _target(self) -> str:
        """The table with its alias."""
        alias = self.statement.alias
        return f"{self._name()} AS {quote_name(alias)}" if alias else self._name()

    def _target_name(self) -> str:
        """The qualifier of the table's columns."""
        return quote_name(self.statement.alias) if self.statement.alias else self._name()

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


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


@dataclass(frozen=True)
class EvolvingUpdate(EvolvingChange):
    """An UPDATE with schema evolution: columns that it sets get the new fields of their values."""

    statement: Update

    @property
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        return [(field,) for field in self._assigned if field is not None]

    def text(self, target: Table) -> str:
        s = self.statement
        pairs = ", ".join(f"{c} = {v}" for c, v in self._pairs_of(s.assignments, self._assigned, target))
        where = f" WHERE {s.where}" if s.where else ""
        return f"{s.ctes} UPDATE {self._target()} SET {pairs}{where}"

    @cached_property
    def _assigned(self) -> list[DataField | None]:
        return self._columns(self.statement.assignments, f"FROM {self._target()}")


def evolve(
    analyzer: Analyzer, catalog: Catalog, identifier: Identifier, table: Table, statement: RowStatement
) -> tuple[Table, str]:
    """Add a statement's new columns to its table; return the table and the statement's text for it.

    Nothing changes unless the statement or an option requests schema evolution.
    """
    evolves = table.options.get(WRITE_MERGE_SCHEMA) or getattr(statement, "schema_evolution", False)
    if not isinstance(statement, MergeInto | Update) or not evolves:
        return table, statement.text
    case_sensitive = analyzer.session.case_sensitive
    change: EvolvingChange = (
        EvolvingMerge(analyzer, statement, table, case_sensitive)
        if isinstance(statement, MergeInto)
        else EvolvingUpdate(analyzer, statement, table, case_sensitive)
    )
    has_data = table.snapshots.latest_id() is not None
    if change.evolved(table.schema, has_data=has_data) is not table.schema:
        catalog.alter_table(identifier, lambda schema: change.evolved(schema, has_data=has_data))
        evolved = catalog.table(identifier)
        dynamic = {k: v for k, v in table.schema.options.items() if evolved.schema.options.get(k) != v}
        table = evolved.with_options(dynamic)
    return table, change.text(table)

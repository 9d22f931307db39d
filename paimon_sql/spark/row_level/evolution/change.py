"""Base class of row-level statements that add columns, or nested fields, to their table."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA_EXPLICIT_CAST, WRITE_MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.nested_fields import NestedFields
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.sql.statements.rows import Assignment
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.schema.changes import apply_changes
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
    statement: Any
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
        parsed = self.analyzer.parse(f"{self.statement.ctes} SELECT {', '.join(values)} {scope}")
        try:
            struct = self.analyzer.frame(parsed).schema.json()
        except AnalysisException as error:
            raise InvalidInputError(str(error).split(";\n", 1)[0]) from None
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

"""Positions of columns among their siblings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.schema.changes.base import STRICT, Context, Path, SchemaChange, missing_column
from paimon_sql.storage.schema.changes.columns.nesting import replace_fields, resolve


@dataclass(frozen=True, slots=True)
class Position:
    """FIRST, LAST, or before or after the column ``reference``, a name without its path."""

    kind: Literal["FIRST", "LAST", "AFTER", "BEFORE"]
    reference: str | None = None

    def insert(self, fields: Sequence[DataField], field: DataField, parent: Path, context: Context) -> list[DataField]:
        """Insert a field.

        Args:
            fields: the other fields.
            field: the field to insert.
            parent: the path of the fields, for messages.
            context: for the comparison of names.

        Raises:
            InvalidSchemaError: the reference is not one of the fields.
        """
        if self.kind in ("FIRST", "LAST"):
            index = 0 if self.kind == "FIRST" else len(fields)
        else:
            names = [f.name for f in fields]
            reference = context.find(self.reference or "", names)
            if reference is None:
                raise missing_column((*parent, self.reference or ""), names)
            index = names.index(reference) + (self.kind == "AFTER")
        return [*fields[:index], field, *fields[index:]]


FIRST = Position("FIRST")
LAST = Position("LAST")


@dataclass(frozen=True)
class UpdateColumnPosition(SchemaChange):
    """Move a column, or a nested field, among its siblings."""

    path: Path
    position: Position

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        path = resolve(schema, self.path, context)

        def move(fields: Sequence[DataField]) -> list[DataField]:
            moved = next(f for f in fields if f.name == path[-1])
            if context.find(self.position.reference or "", [moved.name]):
                raise InvalidSchemaError(f"Column '{moved.name}' cannot be moved beside itself.")
            return self.position.insert([f for f in fields if f is not moved], moved, path[:-1], context)

        return replace_fields(schema, path[:-1], move)

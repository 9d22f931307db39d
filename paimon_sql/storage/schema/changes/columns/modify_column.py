"""MODIFY: a column's complete definition is replaced."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataType
from paimon_sql.storage.schema.changes.base import STRICT, Context, SchemaChange
from paimon_sql.storage.schema.changes.columns.column_facts import UpdateColumnComment
from paimon_sql.storage.schema.changes.columns.column_type import UpdateColumnType
from paimon_sql.storage.schema.changes.columns.nesting import resolve
from paimon_sql.storage.schema.changes.columns.position import Position, UpdateColumnPosition


@dataclass(frozen=True)
class ModifyColumn(SchemaChange):
    """Replace a column's type, nullability and comment, and its position if one is given.

    A column of the primary key stays NOT NULL with any type. The default value is not changed.
    """

    name: str
    type: DataType
    comment: str | None = None
    position: Position | None = None

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        path = resolve(schema, (self.name,), context)
        parts: list[SchemaChange] = [
            UpdateColumnType(path, self.type, keep_nullability=path[0] in schema.primary_keys),
            UpdateColumnComment(path, self.comment),
        ]
        if self.position is not None:
            parts.append(UpdateColumnPosition(path, self.position))
        for change in parts:
            schema = change.apply(schema, context)
        return schema

"""Changes of a column's comment and default value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, RowType
from paimon_sql.storage.columns.declared_types import is_directive
from paimon_sql.storage.columns.defaults import default_scalar, stored_default
from paimon_sql.storage.schema.changes.base import STRICT, Context, Path, SchemaChange, dotted
from paimon_sql.storage.schema.changes.columns.nesting import replace_field, resolve, type_at


@dataclass(frozen=True)
class UpdateColumnComment(SchemaChange):
    """Set a column's comment; None removes it."""

    path: Path
    comment: str | None

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        if is_directive(self.comment):
            raise InvalidSchemaError(
                f"The comment of column '{dotted(self.path)}' cannot be '{self.comment}': a column cannot become a blob"
                " or a vector.",
                remedy="Add a new column with that comment.",
            )
        return _edit(schema, self.path, context, lambda field: replace(field, description=self.comment))


@dataclass(frozen=True)
class UpdateColumnDefaultValue(SchemaChange):
    """Set a column's default value, for new rows; None removes it.

    Attributes:
        path: the column.
        default: the value as a string, in the form of schema files.
        is_sql: whether it is a SQL expression instead.
    """

    path: Path
    default: str | None
    is_sql: bool = False

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        def edit(field: DataField) -> DataField:
            if self.is_sql:
                return stored_default(field, self.default)
            changed = replace(field, default=self.default)
            default_scalar(changed)
            return changed

        return _edit(schema, self.path, context, edit)


def _edit(schema: TableSchema, path: Path, context: Context, edit: Callable[[DataField], DataField]) -> TableSchema:
    found = resolve(schema, path, context)
    if not isinstance(type_at(schema, found[:-1]), RowType):
        raise InvalidSchemaError(
            f"'{dotted(found)}' is a part of a column and has neither comment nor default of its own.",
            remedy=f"Change column '{found[0]}'.",
        )
    return replace_field(schema, found, edit)

"""ADD COLUMN: a new column, or a new nested field; it is null in existing rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.table.table import ADD_COLUMN_BEFORE_PARTITION
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, DataType, RowType, field_ids, reassign_ids
from paimon_sql.storage.columns.declared_types import directed_column, is_directive
from paimon_sql.storage.schema.changes.base import STRICT, Context, Path, SchemaChange, dotted
from paimon_sql.storage.schema.changes.columns.nesting import replace_fields, resolve
from paimon_sql.storage.schema.changes.columns.position import LAST, Position


@dataclass(frozen=True)
class AddColumn(SchemaChange):
    """Add a column; it gets the next field id, and its nested fields the following ones.

    Attributes:
        path: the path of its parent row, followed by its name.
        type: its type; nested ids are assigned anew.
        comment: its comment.
        position: its position; None for the end, or that of ``add-column-before-partition``.
        default: a default value, which is refused.
    """

    path: Path
    type: DataType
    comment: str | None = None
    position: Position | None = None
    default: str | None = None

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        label = dotted(self.path)
        if not self.type.nullable:
            raise InvalidSchemaError(
                f"Column '{label}' cannot be added as NOT NULL: it is null in the rows that exist.",
                remedy="Leave NOT NULL out.",
            )
        if self.default is not None:
            raise InvalidSchemaError(
                f"Column '{label}' cannot be added with a default value: it is null in the rows that exist.",
                remedy=f"Add it without, then say ALTER COLUMN {label} SET DEFAULT for rows to come.",
            )
        parent = resolve(schema, self.path[:-1], context)
        next_id = count(schema.highest_field_id + 1)
        field_id = next(next_id)
        field = DataField(field_id, self.path[-1], reassign_ids(self.type, next_id.__next__), self.comment)
        options = schema.options
        if is_directive(self.comment):
            if parent:
                raise InvalidSchemaError(f"Column '{label}': only a whole column can be a blob or a vector.")
            field, options = directed_column(field, options)
        position = self.position or (LAST if parent else _default_position(schema))

        def add(fields: Sequence[DataField]) -> list[DataField]:
            if taken := context.clash(field.name, (f.name for f in fields)):
                raise InvalidSchemaError(f"Column '{dotted((*parent, taken))}' exists already.")
            return position.insert(fields, field, parent, context)

        changed = replace_fields(schema, parent, add)
        return replace(changed, options=options, highest_field_id=max(field_ids(RowType(True, (field,)))))


def _default_position(schema: TableSchema) -> Position:
    first = next((name for name in schema.names if name in schema.partition_keys), None)
    before = first is not None and TableOptions(schema.options).get(ADD_COLUMN_BEFORE_PARTITION)
    return Position("BEFORE", first) if before else LAST

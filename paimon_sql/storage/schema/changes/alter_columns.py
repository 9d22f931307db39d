"""Changes of columns: ADD, DROP, RENAME and MODIFY COLUMN, and their positions, comments and default values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.table.table import ADD_COLUMN_BEFORE_PARTITION
from paimon_sql.format.options.values import TableOptions
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import BlobType, DataField, DataType, RowType, field_ids, reassign_ids, walk
from paimon_sql.storage.columns.blobs_and_vectors import blobs_and_vectors, is_directive
from paimon_sql.storage.columns.defaults import default_scalar, stored_default
from paimon_sql.storage.columns.in_options import forget_storage, options_naming, rename_column, rename_member
from paimon_sql.storage.schema.changes.base import (
    Context,
    Path,
    SchemaChange,
    dotted,
    fields_at,
    missing_column,
    parts_of,
    refuse_key,
    resolve,
    type_at,
    with_fields,
)
from paimon_sql.storage.schema.changes.column_types import UpdateColumnType


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

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        *parent, name = resolve(schema, self.path, context)
        fields = fields_at(schema, tuple(parent))
        moved = next(f for f in fields if f.name == name)
        if context.find(self.position.reference or "", [name]):
            raise InvalidSchemaError(f"Column '{name}' cannot be moved beside itself.")
        others = [f for f in fields if f is not moved]
        return with_fields(schema, tuple(parent), self.position.insert(others, moved, tuple(parent), context))


@dataclass(frozen=True)
class AddColumn(SchemaChange):
    """Add a column; it gets the next field id, and its nested fields the following ones.

    Attributes:
        path: the path of its parent row, followed by its name.
        type: its type; nested ids are assigned anew.
        comment: its comment.
        position: its position; None for the end, or that of ``add-column-before-partition``.
        default: a default value, which is refused unless it is NULL.
    """

    path: Path
    type: DataType
    comment: str | None = None
    position: Position | None = None
    default: str | None = None

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        label = dotted(self.path)
        if not self.type.nullable:
            raise InvalidSchemaError(
                f"Column '{label}' cannot be added as NOT NULL: it is null in the rows that exist.",
                remedy="Leave NOT NULL out.",
            )
        if self.default is not None and self.default.upper() != "NULL":
            raise InvalidSchemaError(
                f"Column '{label}' cannot be added with a default value: it is null in the rows that exist.",
                remedy=f"Add it without, then ALTER COLUMN {label} SET DEFAULT for new rows.",
            )
        parent = resolve(schema, self.path[:-1], context)
        next_id = count(schema.highest_field_id + 1)
        field_id = next(next_id)
        field = DataField(field_id, self.path[-1], reassign_ids(self.type, next_id.__next__), self.comment)
        options = schema.options
        if is_directive(self.comment):
            if parent:
                raise InvalidSchemaError(f"Column '{label}': only a whole column can be a blob or a vector.")
            (field,), options = blobs_and_vectors([field], options)
        position = self.position or (LAST if parent else _default_position(schema))
        fields = fields_at(schema, parent)
        if taken := context.clash(field.name, (f.name for f in fields)):
            raise InvalidSchemaError(f"Column '{dotted((*parent, taken))}' exists already.")
        changed = with_fields(schema, parent, position.insert(fields, field, parent, context))
        return replace(changed, options=options, highest_field_id=max(field_ids(RowType(True, (field,)))))


def _default_position(schema: TableSchema) -> Position:
    first = next((name for name in schema.names if name in schema.partition_keys), None)
    before = first is not None and TableOptions(schema.options).get(ADD_COLUMN_BEFORE_PARTITION)
    return Position("BEFORE", first) if before else LAST


@dataclass(frozen=True)
class DropColumn(SchemaChange):
    """Drop a column, or a nested field; with ``if_exists`` a missing one is ignored."""

    path: Path
    if_exists: bool = False

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        parent = resolve(schema, self.path[:-1], context)
        siblings = parts_of(type_at(schema, parent))
        name = context.find(self.path[-1], siblings)
        if name is None:
            if self.if_exists:
                return schema
            raise missing_column((*parent, self.path[-1]), siblings)
        path = (*parent, name)
        refuse_key(schema, path, "dropped", primary=True)
        options: Mapping[str, str] = schema.options
        if not parent:
            options = forget_storage(options, name)
            if named := options_naming(options, name):
                raise InvalidSchemaError(
                    f"Column '{name}' cannot be dropped: the option '{named[0]}' needs it.",
                    remedy=f"Remove the option first: ALTER TABLE .. UNSET TBLPROPERTIES ('{named[0]}').",
                )
        remaining = [f for f in fields_at(schema, parent) if f.name != name]
        if not remaining:
            raise InvalidSchemaError(f"Column '{dotted(path)}' cannot be dropped: it is the last one.")
        return replace(with_fields(schema, parent, remaining), options=options)


@dataclass(frozen=True)
class RenameColumn(SchemaChange):
    """Rename a column, or a nested field; its id, and thus its data, stay the same."""

    path: Path
    new_name: str

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        path = resolve(schema, self.path, context)
        refuse_key(schema, path, "renamed", primary=False)
        old = path[-1]
        if any(isinstance(t, BlobType) for t in walk(type_at(schema, path))):
            raise InvalidSchemaError(f"Column '{dotted(path)}' cannot be renamed: its blobs are stored under its name.")
        if self.new_name == old:
            return schema
        fields = fields_at(schema, path[:-1])
        if taken := context.clash(self.new_name, (f.name for f in fields if f.name != old)):
            raise InvalidSchemaError(f"Column '{dotted((*path[:-1], taken))}' exists already.")
        renamed = (replace(f, name=self.new_name) if f.name == old else f for f in fields)
        changed = with_fields(schema, path[:-1], renamed)
        if len(path) > 1:
            return replace(changed, options=rename_member(schema.options, path, self.new_name))
        return replace(
            changed,
            primary_keys=tuple(self.new_name if k == old else k for k in schema.primary_keys),
            options=rename_column(schema.options, old, self.new_name),
        )


@dataclass(frozen=True)
class UpdateColumnComment(SchemaChange):
    """Set a column's comment; None removes it."""

    path: Path
    comment: str | None

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
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
        is_sql: whether it is a SQL expression.
    """

    path: Path
    default: str | None
    is_sql: bool = False

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
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
    fields = fields_at(schema, found[:-1])
    return with_fields(schema, found[:-1], [edit(f) if f.name == found[-1] else f for f in fields])


@dataclass(frozen=True)
class ModifyColumn(SchemaChange):
    """Replace a column's type, nullability and comment, and its position if one is given.

    A column of the primary key stays NOT NULL with any type. The default value is not changed.
    """

    name: str
    type: DataType
    comment: str | None = None
    position: Position | None = None

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        path = resolve(schema, (self.name,), context)
        is_key = path[0] in schema.primary_keys
        changed = UpdateColumnType(path, self.type, keep_nullability=is_key).apply(schema, context)
        changed = UpdateColumnComment(path, self.comment).apply(changed, context)
        return changed if self.position is None else UpdateColumnPosition(path, self.position).apply(changed, context)

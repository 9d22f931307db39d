"""Nested columns: resolution and replacement by paths such as ``orders.element.price``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType, VectorType
from paimon_sql.storage.schema.changes.base import Context, Path, dotted, missing_column

Fields = tuple[DataField, ...]


def parts_of(data_type: DataType) -> tuple[str, ...]:
    """The names of a type's parts: fields of a row, ``element``, or ``key`` and ``value``; none for an atomic type."""
    match data_type:
        case RowType():
            return data_type.names
        case MapType():
            return ("key", "value")
        case ArrayType() | MultisetType() | VectorType():
            return ("element",)
    return ()


def part(data_type: DataType, name: str) -> DataType:
    """The type of the part with exactly this name."""
    if isinstance(data_type, RowType):
        return data_type.field(name).type
    inner: DataType = getattr(data_type, name)
    return inner


def resolve(schema: TableSchema, path: Path, context: Context) -> Path:
    """Resolve a path: the names as spelled in the schema.

    Raises:
        InvalidSchemaError: a step does not exist; the message lists the names that do.
    """
    found: list[str] = []
    current: DataType = schema.row_type
    for step in path:
        names = parts_of(current)
        name = context.find(step, names)
        if name is None:
            raise missing_column((*found, step), names)
        found.append(name)
        current = part(current, name)
    return tuple(found)


def type_at(schema: TableSchema, path: Path) -> DataType:
    """The type at a resolved path."""
    current: DataType = schema.row_type
    for step in path:
        current = part(current, step)
    return current


def replace_type(schema: TableSchema, path: Path, edit: Callable[[DataType], DataType]) -> TableSchema:
    """Replace the type at a resolved path."""
    return _with_row(schema, _replaced(schema.row_type, path, edit))


def replace_fields(schema: TableSchema, parent: Path, edit: Callable[[Fields], Sequence[DataField]]) -> TableSchema:
    """Replace the fields of the row type at a resolved path; the empty path is the table itself.

    Raises:
        InvalidSchemaError: the type at the path has no fields.
    """

    def edit_row(row: DataType) -> DataType:
        if not isinstance(row, RowType):
            label = dotted(parent)
            inner = parts_of(row)
            remedy = f"Its parts are {' and '.join(f'{label}.{name}' for name in inner)}." if inner else None
            raise InvalidSchemaError(f"Column '{label}' is {row.sql()} and has no fields.", remedy=remedy)
        return replace(row, fields=tuple(edit(row.fields)))

    return _with_row(schema, _replaced(schema.row_type, parent, edit_row))


def replace_field(schema: TableSchema, path: Path, edit: Callable[[DataField], DataField]) -> TableSchema:
    """Replace the column or field at a resolved path."""
    return replace_fields(schema, path[:-1], lambda fields: [edit(f) if f.name == path[-1] else f for f in fields])


def _replaced(root: DataType, path: Path, edit: Callable[[DataType], DataType]) -> DataType:
    if not path:
        return edit(root)
    step, rest = path[0], path[1:]
    if isinstance(root, RowType):
        fields = [replace(f, type=_replaced(f.type, rest, edit)) if f.name == step else f for f in root.fields]
        return replace(root, fields=tuple(fields))
    inner = _replaced(part(root, step), rest, edit)
    if isinstance(root, MapType):
        return replace(root, key=inner) if step == "key" else replace(root, value=inner)
    if isinstance(root, ArrayType | MultisetType | VectorType):
        return replace(root, element=inner)
    raise AssertionError(f"{root} has no part {step}")


def _with_row(schema: TableSchema, row: DataType) -> TableSchema:
    assert isinstance(row, RowType)
    return schema if row.fields == schema.fields else replace(schema, fields=row.fields)

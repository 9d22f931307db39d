"""Columns inside columns: finding and replacing what a path such as ``orders.element.price`` leads to."""

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
    """The type of the part of that exact name."""
    if isinstance(data_type, RowType):
        return data_type.field(name).type
    inner: DataType = getattr(data_type, name)
    return inner


def resolve(schema: TableSchema, path: Path, context: Context) -> Path:
    """The path with its names as the schema spells them.

    Raises:
        InvalidSchemaError: a step leads nowhere; the message names it and what is there.
    """
    found: list[str] = []
    here: DataType = schema.row_type
    for step in path:
        names = parts_of(here)
        name = context.find(step, names)
        if name is None:
            raise missing_column((*found, step), names)
        found.append(name)
        here = part(here, name)
    return tuple(found)


def type_at(schema: TableSchema, path: Path) -> DataType:
    """The type that a resolved path leads to."""
    here: DataType = schema.row_type
    for step in path:
        here = part(here, step)
    return here


def replace_type(schema: TableSchema, path: Path, edit: Callable[[DataType], DataType]) -> TableSchema:
    """The schema with the type at a resolved path replaced."""
    return _with_row(schema, _replaced(schema.row_type, path, edit))


def replace_fields(schema: TableSchema, parent: Path, edit: Callable[[Fields], Sequence[DataField]]) -> TableSchema:
    """The schema with other fields in the row at a resolved path; the empty path is the table itself.

    Raises:
        InvalidSchemaError: what is there has no fields.
    """

    def edit_row(row: DataType) -> DataType:
        if not isinstance(row, RowType):
            where = dotted(parent)
            inner = parts_of(row)
            remedy = f"Its parts are {' and '.join(f'{where}.{name}' for name in inner)}." if inner else None
            raise InvalidSchemaError(f"Column '{where}' is {row.sql()} and has no fields.", remedy=remedy)
        return replace(row, fields=tuple(edit(row.fields)))

    return _with_row(schema, _replaced(schema.row_type, parent, edit_row))


def replace_field(schema: TableSchema, path: Path, edit: Callable[[DataField], DataField]) -> TableSchema:
    """The schema with the column or field at a resolved path replaced."""
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

"""Conversion of schemas to Iceberg's; field ids are those of the columns, as in data files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.element_ids import element_id, key_id
from paimon_sql.format.schema.schema import TableSchema

FIRST_PARTITION_ID = 1000
_MICROS = 6
_PLAIN: dict[type[t.DataType], str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "int",
    t.SmallIntType: "int",
    t.IntType: "int",
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.DateType: "date",
    t.CharType: "string",
    t.VarCharType: "string",
    t.BinaryType: "binary",
    t.VarBinaryType: "binary",
}
_PROMOTIONS = {("int", "long"), ("float", "double")}


def iceberg_schema(schema: TableSchema, format_version: int) -> dict[str, Any]:
    """Convert a table's schema to the form of Iceberg's table metadata.

    Raises:
        UnsupportedError: Iceberg lacks a column's type in that version of its format.
    """
    fields = [iceberg_field(f, f.name, format_version) for f in schema.fields]
    return {"type": "struct", "schema-id": schema.id, "fields": fields}


def partition_spec(schema: TableSchema) -> dict[str, Any]:
    """The table's only partition spec in Iceberg's form: identity transforms of the partition columns."""
    fields = [
        {"name": f.name, "transform": "identity", "source-id": f.id, "field-id": FIRST_PARTITION_ID + i}
        for i, f in enumerate(schema.partition_fields)
    ]
    return {"spec-id": 0, "fields": fields}


def iceberg_field(field: t.DataField, path: str, format_version: int) -> dict[str, Any]:
    """Convert a column or a nested field to the form of Iceberg's schemas.

    Args:
        field: the column.
        path: its path, for error messages.
        format_version: the version of Iceberg's format.
    """
    body: dict[str, Any] = {
        "id": field.id,
        "name": field.name,
        "required": not field.type.nullable,
        "type": iceberg_type(field.type, field.id, path, format_version),
    }
    if field.description is not None:
        body["doc"] = field.description
    return body


def iceberg_type(data_type: t.DataType, field_id: int, path: str, format_version: int, depth: int = 0) -> Any:
    """Convert a type to Iceberg's form: a string, or an object for nested types.

    Args:
        data_type: the type.
        field_id: the id of its column, which determines the ids of elements.
        path: its path, for error messages.
        format_version: the version of Iceberg's format.
        depth: its depth in that column.
    """

    def inner(part: t.DataType, name: str) -> Any:
        return iceberg_type(part, field_id, f"{path}.{name}", format_version, below)

    below = depth + 1
    match data_type:
        case t.DecimalType():
            return f"decimal({data_type.precision}, {data_type.scale})"
        case t.TimeType() if data_type.precision <= 3:
            return "time"
        case t.TimestampType() | t.LocalZonedTimestampType() if 3 <= data_type.precision <= _MICROS:
            return "timestamptz" if isinstance(data_type, t.LocalZonedTimestampType) else "timestamp"
        case t.ArrayType():
            return {
                "type": "list",
                "element-id": _wrapped(element_id(field_id, below)),
                "element-required": not data_type.element.nullable,
                "element": inner(data_type.element, "element"),
            }
        case t.MapType():
            return {
                "type": "map",
                "key-id": _wrapped(key_id(field_id, below)),
                "key": inner(data_type.key, "key"),
                "value-id": _wrapped(element_id(field_id, below)),
                "value-required": not data_type.value.nullable,
                "value": inner(data_type.value, "value"),
            }
        case t.MultisetType():
            return {
                "type": "map",
                "key-id": _wrapped(key_id(field_id, below)),
                "key": inner(data_type.element, "element"),
                "value-id": _wrapped(element_id(field_id, below)),
                "value-required": True,
                "value": "int",
            }
        case t.RowType():
            fields = [iceberg_field(f, f"{path}.{f.name}", format_version) for f in data_type.fields]
            return {"type": "struct", "fields": fields}
    if (plain := _PLAIN.get(type(data_type))) is not None:
        return plain
    raise UnsupportedError(
        f"The column {path} is of type {data_type.sql()}, which Iceberg's readers cannot read from Paimon's files.",
        remedy=_remedy(data_type),
    )


def _remedy(data_type: t.DataType) -> str:
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return "Give it a precision from 3 to 6, or set 'metadata.iceberg.storage' to 'disabled'."
    return "Leave the column out, or set 'metadata.iceberg.storage' to 'disabled'."


def _wrapped(element: int) -> int:
    """An element's id as in data files: those of columns with large ids overflow 32 bits."""
    return (element + 2**31) % 2**32 - 2**31


def reads_as(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether Iceberg's readers can read files of an older schema with a newer one."""
    known = {field["id"]: field["type"] for field in old["fields"]}
    return all(_promotes(known[f["id"]], f["type"]) for f in new["fields"] if f["id"] in known)


def _promotes(old: Any, new: Any) -> bool:
    if old == new or (isinstance(old, str) and (old, new) in _PROMOTIONS):
        return True
    if isinstance(old, str) or isinstance(new, str):
        return _widens(old, new)
    if old["type"] != new["type"]:
        return False
    parts: dict[str, Callable[[Any, Any], bool]] = {"fields": lambda a, b: reads_as({"fields": a}, {"fields": b})}
    names = {"list": ("element",), "map": ("key", "value"), "struct": ("fields",)}[new["type"]]
    return all(parts.get(name, _promotes)(old[name], new[name]) for name in names)


def _widens(old: Any, new: Any) -> bool:
    if not (isinstance(old, str) and isinstance(new, str) and old.startswith("decimal") and new.startswith("decimal")):
        return False
    (old_precision, old_scale), (new_precision, new_scale) = (
        map(int, text[len("decimal(") : -1].split(",")) for text in (old, new)
    )
    return old_scale == new_scale and new_precision >= old_precision

"""Conversion of schemas, bounds and partition values to Iceberg's; field ids are those of the columns."""

from __future__ import annotations

import struct
from typing import Literal, NotRequired, TypeAlias, TypedDict

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import element_id, key_id

IcebergType: TypeAlias = "str | IcebergStruct | IcebergList | IcebergMap"
"""A type as parsed JSON (Iceberg's specification, "Schemas and Data Types")."""


class IcebergField(TypedDict):
    id: int
    name: str
    required: bool
    type: IcebergType
    doc: NotRequired[str]


IcebergStruct = TypedDict(
    "IcebergStruct", {"type": Literal["struct"], "fields": list[IcebergField], "schema-id": NotRequired[int]}
)
IcebergList = TypedDict(
    "IcebergList", {"type": Literal["list"], "element-id": int, "element-required": bool, "element": IcebergType}
)
IcebergMap = TypedDict(
    "IcebergMap",
    {
        "type": Literal["map"],
        "key-id": int,
        "key": IcebergType,
        "value-id": int,
        "value-required": bool,
        "value": IcebergType,
    },
)
PartitionSpec = TypedDict("PartitionSpec", {"spec-id": int, "fields": list[dict[str, str | int]]})

FIRST_PARTITION_ID = 1000
_MICROS = 6
_PLAIN: dict[type[t.DataType], str] = {
    t.BooleanType: "boolean",
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType), "int"),
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.DateType: "date",
    **dict.fromkeys(t.TEXTS, "string"),
    **dict.fromkeys(t.BYTES, "binary"),
}
_PROMOTIONS = {("int", "long"), ("float", "double")}


def iceberg_schema(schema: TableSchema, format_version: int) -> IcebergStruct:
    """Convert a table's schema to the form of Iceberg's table metadata.

    Raises:
        UnsupportedError: Iceberg lacks a column's type in that version of its format.
    """
    fields = [iceberg_field(f, f.name, format_version) for f in schema.fields]
    return {"type": "struct", "schema-id": schema.id, "fields": fields}


def partition_spec(schema: TableSchema) -> PartitionSpec:
    """The table's only partition spec in Iceberg's form: identity transforms of the partition columns."""
    fields: list[dict[str, str | int]] = [
        {"name": f.name, "transform": "identity", "source-id": f.id, "field-id": FIRST_PARTITION_ID + i}
        for i, f in enumerate(schema.partition_fields)
    ]
    return {"spec-id": 0, "fields": fields}


def iceberg_field(field: t.DataField, path: str, format_version: int) -> IcebergField:
    """Convert a column or a nested field to the form of Iceberg's schemas.

    Args:
        field: the column.
        path: its path, for error messages.
        format_version: the version of Iceberg's format.
    """
    body: IcebergField = {
        "id": field.id,
        "name": field.name,
        "required": not field.type.nullable,
        "type": iceberg_type(field.type, field.id, path, format_version),
    }
    if field.description is not None:
        body["doc"] = field.description
    return body


def iceberg_type(data_type: t.DataType, field_id: int, path: str, format_version: int, depth: int = 0) -> IcebergType:
    """Convert a type to Iceberg's form: a string, or an object for nested types.

    Args:
        data_type: the type.
        field_id: the id of its column, which determines the ids of elements.
        path: its path, for error messages.
        format_version: the version of Iceberg's format.
        depth: its depth in that column.
    """

    def inner(part: t.DataType, name: str) -> IcebergType:
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
        case t.MapType() | t.MultisetType():
            key, value = t.entry_types(data_type)
            return {
                "type": "map",
                "key-id": _wrapped(key_id(field_id, below)),
                "key": inner(key, "key"),
                "value-id": _wrapped(element_id(field_id, below)),
                "value-required": not value.nullable,
                "value": inner(value, "value"),
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


def reads_as(old: IcebergStruct, new: IcebergStruct) -> bool:
    """Whether Iceberg's readers can read files of an older schema with a newer one."""
    known = {field["id"]: field["type"] for field in old["fields"]}
    return all(_promotes(known[f["id"]], f["type"]) for f in new["fields"] if f["id"] in known)


def _promotes(old: IcebergType, new: IcebergType) -> bool:
    if old == new or (isinstance(old, str) and (old, new) in _PROMOTIONS):
        return True
    if isinstance(old, str) or isinstance(new, str):
        return _widens(old, new)
    if old["type"] == "struct" and new["type"] == "struct":
        return reads_as(old, new)
    if old["type"] == "list" and new["type"] == "list":
        return _promotes(old["element"], new["element"])
    if old["type"] == "map" and new["type"] == "map":
        return _promotes(old["key"], new["key"]) and _promotes(old["value"], new["value"])
    return False


def _widens(old: IcebergType, new: IcebergType) -> bool:
    if not (isinstance(old, str) and isinstance(new, str) and old.startswith("decimal") and new.startswith("decimal")):
        return False
    (old_precision, old_scale), (new_precision, new_scale) = (
        map(int, text[len("decimal(") : -1].split(",")) for text in (old, new)
    )
    return old_scale == new_scale and new_precision >= old_precision


RawValue: TypeAlias = bool | int | float | str | bytes | None
"""A partition value of Iceberg's Avro files: dates and times are numbers, decimals are bytes."""

_NESTED = t.ArrayType | t.MapType | t.MultisetType | t.RowType | t.VectorType | t.VariantType | t.BlobType
_WIDENED: dict[type[t.DataType], pa.DataType] = {
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType, t.DateType), pa.int32()),
    t.BigIntType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.TimestampType: pa.timestamp("us"),
    t.LocalZonedTimestampType: pa.timestamp("us", "UTC"),
    t.TimeType: pa.time64("us"),
}


def has_single_values(data_type: t.DataType) -> bool:
    """Whether values of a type have bounds."""
    return not isinstance(data_type, _NESTED)


def raw_values(data_type: t.DataType, values: pa.Array) -> list[RawValue]:
    """Convert values to partition values of Iceberg's Avro files: numbers, strings and bytes; times as microseconds.

    Args:
        data_type: their type.
        values: an array of ``arrow_type`` of that type.
    """
    if isinstance(data_type, t.DecimalType):
        width = decimal_width(data_type.precision)
        unscaled = (None if v is None else int(v.scaleb(data_type.scale)) for v in values.to_pylist())
        return [None if v is None else v.to_bytes(width, "big", signed=True) for v in unscaled]
    if (wide := _WIDENED.get(type(data_type))) is not None:
        values = values.cast(wide).cast(pa.int64()) if pa.types.is_temporal(wide) else values.cast(wide)
    plain: list[RawValue] = values.to_pylist()
    return plain


def decimal_width(precision: int) -> int:
    """The number of bytes of the largest decimal of a precision."""
    return (int("9" * precision).bit_length() + 8) // 8


_PACKED: dict[type[t.DataType], str] = {
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType, t.DateType), "<i"),
    t.BooleanType: "<?",
    t.FloatType: "<f",
    t.DoubleType: "<d",
}
"""The single-value serialization of Iceberg's numbers; all others have eight bytes."""


def single_value(data_type: t.DataType, raw: RawValue) -> bytes:
    """Convert a raw value, as by `raw_values`, to Iceberg's single-value serialization."""
    if isinstance(raw, bytes):
        return raw
    return raw.encode() if isinstance(raw, str) else struct.pack(_PACKED.get(type(data_type), "<q"), raw)


def single_values(data_type: t.DataType, values: pa.Array) -> list[bytes | None]:
    """Encode values as bounds; None for null.

    Args:
        data_type: their type, for which `has_single_values` is true.
        values: an array of ``arrow_type`` of that type.
    """
    encoded = (None if v is None else single_value(data_type, v) for v in raw_values(data_type, values))
    is_decimal = isinstance(data_type, t.DecimalType)
    return [_min_bytes(v) if is_decimal and v is not None else v for v in encoded]


def _min_bytes(value: bytes) -> bytes:
    number = int.from_bytes(value, "big", signed=True)
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)

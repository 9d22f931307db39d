"""Paimon's types of Arrow's: the columns of a table that is to hold Arrow data."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t

_ATOMIC: dict[pa.DataType, t.DataType] = {
    pa.bool_(): t.BooleanType(),
    pa.int8(): t.TinyIntType(),
    pa.int16(): t.SmallIntType(),
    pa.int32(): t.IntType(),
    pa.int64(): t.BigIntType(),
    pa.uint8(): t.SmallIntType(),
    pa.uint16(): t.IntType(),
    pa.uint32(): t.BigIntType(),
    pa.float32(): t.FloatType(),
    pa.float64(): t.DoubleType(),
    **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), t.string_type()),
    **dict.fromkeys((pa.binary(), pa.large_binary(), pa.binary_view()), t.bytes_type()),
    **dict.fromkeys((pa.date32(), pa.date64()), t.DateType()),
    **dict.fromkeys((pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")), t.TimeType(True, 3)),
}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_MAX_PRECISION = 38


def fields_of(members: pa.Schema | pa.StructType) -> list[t.DataField]:
    """Return the columns of an Arrow schema, or the fields of a struct; `new_schema` assigns their ids.

    Raises:
        InvalidSchemaError: a type has no counterpart.
    """
    return [t.DataField(0, m.name, _type(m).as_nullable(m.nullable)) for m in members]


def _type(field: pa.Field) -> t.DataType:
    kind = field.type
    if kind in _ATOMIC:
        return _ATOMIC[kind]
    if pa.types.is_dictionary(kind):
        return _type(field.with_type(kind.value_type))
    if pa.types.is_fixed_size_binary(kind):
        return t.BinaryType(True, kind.byte_width)
    if pa.types.is_decimal(kind) and kind.precision <= _MAX_PRECISION and 0 <= kind.scale <= kind.precision:
        return t.DecimalType(True, kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return (t.TimestampType if kind.tz is None else t.LocalZonedTimestampType)(True, _DIGITS[kind.unit])
    if pa.types.is_map(kind):
        key, value = (_type(f) for f in (kind.key_field, kind.item_field))
        return t.MapType(True, key.as_nullable(False), value.as_nullable(kind.item_field.nullable))
    if pa.types.is_struct(kind):
        return t.RowType(True, tuple(fields_of(kind)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        element = kind.value_field
        return t.ArrayType(True, _type(element).as_nullable(element.nullable))
    raise InvalidSchemaError(f"Column {field.name}: Arrow's type {kind} has no counterpart in Paimon.")

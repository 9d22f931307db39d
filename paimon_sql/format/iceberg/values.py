"""Encoding of bounds and partition values in Iceberg's manifests (Iceberg's specification, "Binary single-value")."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema import types as t

_NESTED = t.ArrayType | t.MapType | t.MultisetType | t.RowType | t.VectorType | t.VariantType | t.BlobType
_WIDENED: dict[type[t.DataType], pa.DataType] = {
    t.TinyIntType: pa.int32(),
    t.SmallIntType: pa.int32(),
    t.IntType: pa.int32(),
    t.DateType: pa.int32(),
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


def raw_values(data_type: t.DataType, values: pa.Array) -> list[object]:
    """Convert values to partition values of Iceberg's Avro files: numbers, strings and bytes; times as microseconds.

    Args:
        data_type: their type.
        values: an array of ``arrow_type`` of that type.
    """
    if isinstance(data_type, t.DecimalType):
        width = decimal_width(data_type.precision)
        unscaled = (None if v is None else int(v.scaleb(data_type.scale)) for v in values.to_pylist())
        return [None if v is None else v.to_bytes(width, "big", signed=True) for v in unscaled]
    if (wide := _WIDENED.get(type(data_type))) is None:
        plain_values: list[object] = values.to_pylist()
        return plain_values
    cast = values.cast(wide)
    if pa.types.is_temporal(wide):
        cast = cast.cast(pa.int64())
    plain: list[object] = cast.to_pylist()
    return plain


def decimal_width(precision: int) -> int:
    """The number of bytes of the largest decimal of a precision."""
    return (int("9" * precision).bit_length() + 8) // 8


def single_values(data_type: t.DataType, values: pa.Array) -> list[bytes | None]:
    """Encode values as bounds; None for null.

    Args:
        data_type: their type, for which `has_single_values` is true.
        values: an array of ``arrow_type`` of that type.
    """
    if isinstance(data_type, t.DecimalType):
        raw = raw_values(data_type, values)
        return [None if v is None else _min_bytes(v) for v in raw]  # type: ignore[arg-type]
    if (wide := _WIDENED.get(type(data_type))) is None:
        if isinstance(data_type, t.BooleanType):
            return [None if v is None else bytes([v]) for v in values.to_pylist()]
        as_bytes: list[bytes | None] = values.cast(pa.binary()).to_pylist()
        return as_bytes
    cast = values.cast(wide)
    if pa.types.is_temporal(wide):
        cast = cast.cast(pa.int64())
    numbers = pc.fill_null(cast, 0).to_numpy(zero_copy_only=False)
    data, width = np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<"))).tobytes(), numbers.itemsize
    valid = cast.is_valid().to_pylist()
    return [data[i * width : (i + 1) * width] if is_valid else None for i, is_valid in enumerate(valid)]


def _min_bytes(value: bytes) -> bytes:
    number = int.from_bytes(value, "big", signed=True)
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)

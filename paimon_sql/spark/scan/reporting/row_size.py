"""Estimated row size by Spark's default sizes of types: the share of a table's bytes that some columns have."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import DataField, DataType

_ROW = 8
"""Bytes that Spark adds per row (Spark: `EstimationUtils.getSizePerRow`)."""
_TEXT, _BYTES, _VARIANT = 20, 100, 2048
_WIDE_DECIMAL = 18
_WIDTHS: dict[type[DataType], int] = {
    t.BooleanType: 1,
    t.TinyIntType: 1,
    t.SmallIntType: 2,
    t.IntType: 4,
    t.FloatType: 4,
    t.DateType: 4,
    t.CharType: _TEXT,
    t.VarCharType: _TEXT,
    t.BinaryType: _BYTES,
    t.VarBinaryType: _BYTES,
    t.BlobType: _BYTES,
    t.VariantType: _VARIANT,
}
"""Spark's default sizes (Spark: `DataType.defaultSize`); that of all other types is 8."""


def row_width(fields: Iterable[DataField]) -> int:
    """The estimated bytes of one row with these columns."""
    return _ROW + sum(_width(field.type) for field in fields)


def _width(data_type: DataType) -> int:
    match data_type:
        case t.RowType():
            return sum(_width(field.type) for field in data_type.fields)
        case t.ArrayType() | t.VectorType():
            return _width(data_type.element)
        case t.MapType():
            return _width(data_type.key) + _width(data_type.value)
        case t.MultisetType():
            return _width(data_type.element) + _WIDTHS[t.IntType]
        case t.VariantType() if data_type.paths is not None:
            return min(_VARIANT, _TEXT * len(data_type.paths))
        case t.DecimalType():
            return 8 if data_type.precision <= _WIDE_DECIMAL else 16
    return _WIDTHS.get(type(data_type), 8)

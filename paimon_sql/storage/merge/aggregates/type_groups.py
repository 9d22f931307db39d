"""Groups of types that aggregate functions support."""

from __future__ import annotations

from paimon_sql.format.schema import types as t

WHOLE_NUMBERS = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
NUMBERS = (*WHOLE_NUMBERS, t.FloatType, t.DoubleType, t.DecimalType)
UNORDERED: tuple[type[t.DataType], ...] = (
    *(t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.VectorType, t.VariantType, t.BlobType),
)
"""Types without an order."""

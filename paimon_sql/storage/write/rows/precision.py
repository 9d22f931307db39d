"""Precision of timestamps: digits beyond the type's precision are truncated before rows are written.

Binary rows of partitions, keys and statistics store timestamps of precision up to 3 as milliseconds, and so do Parquet
and Avro. ORC would store more digits, so files and metadata would have different values.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import conform

_MILLIS = 3
"""The max precision of timestamps that are stored as milliseconds (spec: BinaryRow, "Timestamp")."""


def cut_to_precision(rows: pa.RecordBatch, fields: Sequence[t.DataField]) -> pa.RecordBatch:
    """Truncate timestamps of precision up to 3 to milliseconds, rounding down.

    Args:
        rows: the columns of the fields, optionally with others after them.
        fields: the columns.
    """
    for i, field in enumerate(fields):
        if any(_is_coarse(kind) for kind in t.walk(field.type)):
            column = rows.column(i)
            truncated = conform(conform(column, _in_millis(field.type, column.type)), column.type)
            rows = rows.set_column(i, rows.schema.field(i), truncated)
    return rows


def _is_coarse(kind: t.DataType) -> bool:
    return isinstance(kind, t.TimestampType | t.LocalZonedTimestampType) and kind.precision <= _MILLIS


def _in_millis(kind: t.DataType, arrow: pa.DataType) -> pa.DataType:
    """The Arrow type with these timestamps as milliseconds."""
    if _is_coarse(kind):
        return pa.timestamp("ms", arrow.tz)
    if isinstance(kind, t.RowType):
        inner = [arrow.field(i).with_type(_in_millis(f.type, arrow.field(i).type)) for i, f in enumerate(kind.fields)]
        return pa.struct(inner)
    if isinstance(kind, t.ArrayType):
        return pa.list_(arrow.value_field.with_type(_in_millis(kind.element, arrow.value_type)))
    if isinstance(kind, t.MapType):
        key, item = _in_millis(kind.key, arrow.key_type), _in_millis(kind.value, arrow.item_type)
        return pa.map_(arrow.key_field.with_type(key), arrow.item_field.with_type(item))
    if isinstance(kind, t.MultisetType):
        return pa.map_(arrow.key_field.with_type(_in_millis(kind.element, arrow.key_type)), arrow.item_field)
    return arrow

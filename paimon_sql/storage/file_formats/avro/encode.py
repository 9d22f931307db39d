"""Arrow arrays of the canonical types as lists of the values that Avro stores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.file_formats.avro.schema import has_text_keys

_MILLIS_DIGITS = 3
_DECIMAL_BYTES = 16


def encode_column(array: pa.Array, data_type: t.DataType) -> list[Any]:
    """One stored value a row, None for null, for a schema without logical types."""
    match data_type:
        case t.TimestampType() | t.LocalZonedTimestampType():
            unit = "ms" if data_type.precision <= _MILLIS_DIGITS else "us"
            return list(conform(array, pa.timestamp(unit, array.type.tz)).view(pa.int64()).to_pylist())
        case t.DateType() | t.TimeType():
            return list(array.view(pa.int32()).to_pylist())
        case t.DecimalType():
            return _decimals(array)
        case t.RowType():
            columns = [encode_column(array.field(i), f.type) for i, f in enumerate(data_type.fields)]
            names = [f.name for f in data_type.fields]
            return _where_valid(array, [dict(zip(names, row, strict=True)) for row in _rows(columns, len(array))])
        case t.ArrayType() | t.VectorType():
            lists = conform(array, pa.list_(array.type.value_field))
            return _slices(lists, encode_column(lists.values, data_type.element))
        case t.MapType():
            return _maps(array, data_type.key, data_type.value)
        case t.MultisetType():
            return _maps(array, data_type.element, t.IntType(False))
    return list(array.to_pylist())


def _rows(columns: list[list[Any]], rows: int) -> Any:
    return zip(*columns, strict=True) if columns else ((),) * rows


def _where_valid(array: pa.Array, values: list[Any]) -> list[Any]:
    if array.null_count == 0:
        return values
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _slices(array: pa.Array, values: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    return _where_valid(array, [values[low:high] for low, high in pairwise(offsets)])


def _maps(array: pa.Array, key: t.DataType, value: t.DataType) -> list[Any]:
    pairs = zip(encode_column(array.keys, key), encode_column(array.items, value), strict=True)
    if has_text_keys(key):
        return [None if entries is None else dict(entries) for entries in _slices(array, list(pairs))]
    return _slices(array, [{"key": k, "value": v} for k, v in pairs])


def _decimals(array: pa.Array) -> list[bytes | None]:
    """The shortest big-endian two's complement of each unscaled value."""
    first = array.offset * _DECIMAL_BYTES
    little = np.frombuffer(array.buffers()[1], np.uint8, len(array) * _DECIMAL_BYTES, first)
    big = little.reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    fill = np.where(big[:, :1] >= 0x80, 0xFF, 0)
    # A leading byte can go while it only repeats the sign bit of the byte behind it.
    spare = (big[:, :-1] == fill) & ((big[:, 1:] >= 0x80) == (fill == 0xFF))
    leading = np.cumprod(spare, axis=1).sum(axis=1).tolist()
    data = big.tobytes()
    step = _DECIMAL_BYTES
    return _where_valid(array, [data[i * step + skip : (i + 1) * step] for i, skip in enumerate(leading)])

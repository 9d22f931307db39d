"""Decoding of Avro values, one list per column, to Arrow arrays of the canonical types."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.file_formats.avro.schema import Schema, branch_of

_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
_DECIMAL_BYTES = 16
_MILLIS_DIGITS = 3


def decode_column(values: Sequence[Any], schema: Schema, data_type: t.DataType) -> pa.Array:
    """Convert values decoded without logical types to an array of the column's canonical type.

    Args:
        values: one value per row, None for null.
        schema: the schema they were written with, including logical types.
        data_type: the column's type.

    Raises:
        pa.ArrowInvalid: a value does not fit the type.
    """
    target, branch = arrow_type(data_type), branch_of(schema)
    match data_type:
        case t.TimestampType() | t.LocalZonedTimestampType():
            unit = _unit(branch, data_type.precision)
            return conform(pa.array(values, pa.int64()).view(pa.timestamp(unit, target.tz)), target)
        case t.DateType() | t.TimeType():
            return pa.array(values, pa.int32()).view(target)
        case t.DecimalType():
            return _decimals(values, target)
        case t.RowType():
            return _rows(values, branch, data_type, target)
        case t.ArrayType() | t.VectorType():
            inner = decode_column(_flat(values), branch["items"], data_type.element)
            lists = _lists(values, pa.list_(target.value_field), inner)
            return conform(lists, target)
        case t.MapType():
            return _maps(values, branch, data_type.key, data_type.value, target)
        case t.MultisetType():
            return _maps(values, branch, data_type.element, t.IntType(False), target)
    return pa.array(values, target)


def _unit(branch: Schema, precision: int) -> str:
    logical = str(branch.get("logicalType", "")) if isinstance(branch, dict) else ""
    default = "ms" if precision <= _MILLIS_DIGITS else "us"
    return _UNITS.get(logical.rpartition("-")[2], default)


def _decimals(values: Sequence[bytes | None], target: pa.Decimal128Type) -> pa.Array:
    """Decode unscaled big-endian two's complements of any length."""
    binary = pa.array(values, pa.binary())
    sizes = np.diff(np.frombuffer(binary.buffers()[1], "<i4", len(binary) + 1))
    if len(sizes) and int(sizes.max()) > _DECIMAL_BYTES:
        raise pa.ArrowInvalid(f"a decimal takes {int(sizes.max())} bytes")
    data = binary.buffers()[2]
    stored = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    ends = np.cumsum(sizes)
    # Column i of the matrix is the i-th byte from the end, which is the order of Arrow's little-endian decimals.
    position = ends[:, None] - 1 - np.arange(_DECIMAL_BYTES)
    within = np.arange(_DECIMAL_BYTES) < sizes[:, None]
    padded = np.append(stored, np.uint8(0))
    negative = (sizes > 0) & (padded[ends - sizes] >= 0x80)
    fill = np.where(negative, 0xFF, 0)[:, None]
    matrix = np.where(within, padded[np.where(within, position, 0)], fill).astype(np.uint8)
    return pa.Array.from_buffers(target, len(binary), [binary.buffers()[0], pa.py_buffer(matrix)])


def _rows(values: Sequence[Any], branch: Schema, row: t.RowType, target: pa.StructType) -> pa.Array:
    stored = {member["name"]: member["type"] for member in branch["fields"]}
    children = []
    for i, field in enumerate(row.fields):
        if field.name in stored:
            column = [None if value is None else value[field.name] for value in values]
            children.append(decode_column(column, stored[field.name], field.type))
        else:
            children.append(pa.nulls(len(values), target.field(i).type))
    if not children:
        return pa.array(values, target)
    mask = pa.array([value is None for value in values], pa.bool_())
    fields = [target.field(i) for i in range(target.num_fields)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _maps(values: Sequence[Any], branch: Schema, key: t.DataType, value: t.DataType, target: pa.MapType) -> pa.Array:
    if branch["type"] == "map":
        keys = decode_column(_flat(values), "string", key)
        entries = [None if one is None else one.values() for one in values]
        items = decode_column(_flat(entries), branch["values"], value)
    else:
        pairs = _flat(values)
        types = {member["name"]: member["type"] for member in branch["items"]["fields"]}
        keys = decode_column([pair["key"] for pair in pairs], types["key"], key)
        items = decode_column([pair["value"] for pair in pairs], types["value"], value)
    entry = pa.StructArray.from_arrays([keys, items], fields=[target.key_field, target.item_field])
    return _lists(values, target, entry)


def _flat(values: Sequence[Any]) -> list[Any]:
    return list(chain.from_iterable(value for value in values if value is not None))


def _lists(values: Sequence[Any], target: pa.DataType, inner: pa.Array) -> pa.Array:
    sizes = np.fromiter((0 if value is None else len(value) for value in values), np.int32, len(values))
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    present = pa.array([value is not None for value in values], pa.bool_())
    return pa.Array.from_buffers(target, len(values), [present.buffers()[1], pa.py_buffer(offsets)], children=[inner])

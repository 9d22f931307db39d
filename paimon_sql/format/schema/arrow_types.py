"""Conversion of Paimon's types to Arrow's, the in-memory form of columns between files, merges and Spark.

Timestamps up to precision 6 are ``us``, others ``ns``; those with local time zone have the zone UTC. Times of day are
milliseconds, a multiset is a map from element to count, a variant is a struct of value and metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from paimon_sql.format.schema import types as t

_ATOMIC: dict[type[t.DataType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.TinyIntType: pa.int8(),
    t.SmallIntType: pa.int16(),
    t.IntType: pa.int32(),
    t.BigIntType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    **dict.fromkeys(t.TEXTS, pa.string()),
    **dict.fromkeys((*t.BYTES, t.BlobType), pa.binary()),
    t.DateType: pa.date32(),
    t.TimeType: pa.time32("ms"),
    t.VariantType: pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)]),
}


def _unit(precision: int) -> str:
    return "us" if precision <= 6 else "ns"


def _map(key: t.DataType, value: t.DataType) -> pa.MapType:
    return pa.map_(pa.field("key", arrow_type(key), False), pa.field("value", arrow_type(value), value.nullable))


_BUILT: dict[type[t.DataType], Callable[..., pa.DataType]] = {
    t.DecimalType: lambda d: pa.decimal128(d.precision, d.scale),
    t.TimestampType: lambda d: pa.timestamp(_unit(d.precision)),
    t.LocalZonedTimestampType: lambda d: pa.timestamp(_unit(d.precision), "UTC"),
    t.ArrayType: lambda d: pa.list_(pa.field("element", arrow_type(d.element), d.element.nullable)),
    t.VectorType: lambda d: pa.list_(pa.field("element", arrow_type(d.element), d.element.nullable), d.length),
    **dict.fromkeys((t.MapType, t.MultisetType), lambda d: _map(*t.entry_types(d))),
    t.RowType: lambda d: pa.struct([arrow_field(f) for f in d.fields]),
}


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """The Arrow type of a Paimon type."""
    kind = type(data_type)
    return _ATOMIC[kind] if kind in _ATOMIC else _BUILT[kind](data_type)


def arrow_field(field: t.DataField) -> pa.Field:
    """The Arrow field of a column, with the same nullability."""
    return pa.field(field.name, arrow_type(field.type), field.type.nullable)


def arrow_schema(fields: Iterable[t.DataField]) -> pa.Schema:
    """The Arrow schema of columns."""
    return pa.schema([arrow_field(f) for f in fields])


def is_bytes(kind: pa.DataType) -> bool:
    """Whether the values of an Arrow type are strings or bytes."""
    plain = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary())
    return kind in plain or bool(pa.types.is_fixed_size_binary(kind))

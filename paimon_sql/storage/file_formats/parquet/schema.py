"""Layout of columns in Parquet files: physical types, names of nested parts and field ids.

The layout is that of Paimon's Java writer: millisecond and microsecond timestamps as INT64, finer ones as INT96,
decimals in the smallest integer that fits, three-level lists and maps, an id on every part (spec: Parquet).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import element_id, key_id
from paimon_sql.storage.expressions.kernels.conform import conform_leaf
from paimon_sql.storage.file_formats.int96 import INT96, from_int96, to_int96

_ID = "PARQUET:field_id"


def parquet_schema(fields: Sequence[t.DataField]) -> pa.Schema:
    """Return the Arrow schema for which Arrow's writer creates the Parquet schema, except for `INT96`."""
    return pa.schema([_named(f.name, f.type, f.id) for f in fields])


def _named(name: str, data_type: t.DataType, field_id: int) -> pa.Field:
    return _with_id(name, _physical(data_type, field_id, 0), data_type.nullable, field_id)


def _with_id(name: str, physical: pa.DataType, nullable: bool, field_id: int) -> pa.Field:
    # Ids of parts of columns with large ids overflow in Java, and so here.
    wrapped = (field_id + 2**31) % 2**32 - 2**31
    return pa.field(name, physical, nullable, metadata={_ID: str(wrapped)})


def _physical(data_type: t.DataType, field_id: int, depth: int) -> pa.DataType:
    below = depth + 1
    match data_type:
        case t.TimestampType() | t.LocalZonedTimestampType():
            if data_type.precision > 6:
                return INT96
            zone = "UTC" if isinstance(data_type, t.LocalZonedTimestampType) else None
            return pa.timestamp("ms" if data_type.precision <= 3 else "us", zone)
        case t.ArrayType() | t.VectorType():
            element = _physical(data_type.element, field_id, below)
            return pa.list_(_with_id("element", element, data_type.element.nullable, element_id(field_id, below)))
        case t.MapType() | t.MultisetType():
            key, value = t.entry_types(data_type)
            return pa.map_(
                _with_id("key", _physical(key, field_id, below), False, key_id(field_id, below)),
                _with_id("value", _physical(value, field_id, below), value.nullable, element_id(field_id, below)),
            )
        case t.RowType():
            return pa.struct([_named(f.name, f.type, f.id) for f in data_type.fields])
        case t.VariantType():
            parts = (("value", 0), ("metadata", 1))
            return pa.struct([_with_id(name, pa.binary(), False, part_id) for name, part_id in parts])
    return arrow_type(data_type)


def leaves(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the columns that Parquet stores, in order: their dotted paths and types."""
    for field in schema:
        yield from _leaves(field.name, field.type)


def _leaves(path: str, physical: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_struct(physical):
        for i in range(physical.num_fields):
            yield from _leaves(f"{path}.{physical.field(i).name}", physical.field(i).type)
    elif pa.types.is_map(physical):
        yield from _leaves(f"{path}.key_value.key", physical.key_type)
        yield from _leaves(f"{path}.key_value.value", physical.item_type)
    elif pa.types.is_list(physical):
        yield from _leaves(f"{path}.list.element", physical.value_type)
    else:
        yield path, physical


def to_physical_leaf(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert a canonical column without children to the type of the file."""
    if target.equals(INT96) and pa.types.is_timestamp(array.type):
        return to_int96(array)
    return conform_leaf(array, target)


def from_physical_leaf(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert a column without children from the type of the file to its canonical type."""
    if array.type.equals(INT96) and pa.types.is_timestamp(target):
        return from_int96(array, target)
    return conform_leaf(array, target)

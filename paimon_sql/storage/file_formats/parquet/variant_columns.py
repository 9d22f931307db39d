"""Shredding of variant columns in Parquet files, and reassembly on read (spec: Parquet, "Variant Shredding")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.variant.shredding.assemble import assemble
from paimon_sql.format.variant.shredding.shapes import TYPED_VALUE, VALUE, group_type
from paimon_sql.format.variant.shredding.shred import shred
from paimon_sql.storage.expressions.kernels.conform import rebuild_list, rebuild_map, rebuild_struct

VariantPath = tuple[str, ...]
"""Path of a variant: the name of its column, and of the struct fields that lead to it."""
Shapes = Mapping[VariantPath, t.DataType]
"""Shredding types of a file's variants by path; variants without one are not shredded."""


def variant_places(fields: Sequence[t.DataField]) -> Iterator[VariantPath]:
    """Yield the paths of variants that can be shredded: columns, and fields of rows at any depth."""
    for field in fields:
        if isinstance(field.type, t.VariantType):
            yield (field.name,)
        elif isinstance(field.type, t.RowType):
            yield from ((field.name, *place) for place in variant_places(field.type.fields))


def apart(fields: Sequence[t.DataField], shapes: Shapes) -> tuple[t.DataField, ...]:
    """Return the columns as stored in a file, with shredded variants."""
    return tuple(_shredded_field(field, shapes, ()) for field in fields)


def _shredded_field(field: t.DataField, shapes: Shapes, above: VariantPath) -> t.DataField:
    place = (*above, field.name)
    if place in shapes:
        return replace(field, type=group_type(shapes[place], top=True).as_nullable(field.type.nullable))
    if isinstance(field.type, t.RowType):
        inner = tuple(_shredded_field(f, shapes, place) for f in field.type.fields)
        return replace(field, type=replace(field.type, fields=inner))
    return field


def shred_columns(batch: pa.RecordBatch, shapes: Shapes) -> list[pa.Array]:
    """Return the columns of rows as stored in a file, with shredded variants."""
    return [_shredded_column(batch.column(i), shapes, (name,)) for i, name in enumerate(batch.schema.names)]


def _shredded_column(column: pa.Array, shapes: Shapes, place: VariantPath) -> pa.Array:
    if place in shapes:
        return shred(column, shapes[place])
    if not any(other[: len(place)] == place for other in shapes):
        return column
    children = [_shredded_column(part, shapes, (*place, name)) for name, part in inside(column)]
    return rebuild_struct(column, _of_children(column.type, children), children)


def _of_children(kind: pa.StructType, children: Sequence[pa.Array]) -> pa.StructType:
    return pa.struct([f.with_type(child.type) for f, child in zip(kind, children, strict=True)])


def inside(column: pa.StructArray) -> Iterator[tuple[str, pa.Array]]:
    """Yield the fields of structs by name, null where the structs are."""
    for i, field in enumerate(column.type):
        part = column.field(i)
        if column.null_count:
            part = pc.if_else(column.is_valid(), part, pa.scalar(None, part.type))
        yield field.name, part


def reassemble(column: pa.Array, data_type: t.DataType) -> pa.Array:
    """Reassemble all variants of a file's column, as far as they were read."""
    match data_type:
        case t.VariantType() if _is_shredded(column.type):
            return assemble(column, arrow_type(data_type))
        case t.RowType() if pa.types.is_struct(column.type):
            types = {f.name: f.type for f in data_type.fields}
            children = [
                reassemble(column.field(i), types[f.name]) if f.name in types else column.field(i)
                for i, f in enumerate(column.type)
            ]
            return rebuild_struct(column, _of_children(column.type, children), children)
        case t.ArrayType() if pa.types.is_list(column.type):
            values = reassemble(column.values, data_type.element)
            return rebuild_list(column, pa.list_(column.type.value_field.with_type(values.type)), values)
        case t.MapType() if pa.types.is_map(column.type):
            items = reassemble(column.items, data_type.value)
            kind = pa.map_(column.type.key_field, column.type.item_field.with_type(items.type))
            return rebuild_map(column, kind, column.keys, items)
    return column


def _is_shredded(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return False
    at = kind.get_field_index(VALUE)
    # The typed columns of a shredded variant may not have been read; its residual value is nullable.
    return bool(at < 0 or kind.field(at).nullable or kind.get_field_index(TYPED_VALUE) >= 0)

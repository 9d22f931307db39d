"""Shredding of variants (spec: Parquet, "Variant Shredding")."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Longs, Mask
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.variant.byte_ranges import binary_of, bitmap, stretches_of, validity
from paimon_sql.format.variant.dictionaries import Dictionaries
from paimon_sql.format.variant.encode import packed
from paimon_sql.format.variant.header import Basic
from paimon_sql.format.variant.scalars import typed
from paimon_sql.format.variant.shredding.shapes import METADATA, VALUE, group_type
from paimon_sql.format.variant.values import Children, Values


def shred(variants: pa.StructArray, shape: t.DataType) -> pa.StructArray:
    """Shred variants, structs of value and metadata, to structs of the columns of a shape.

    Values that do not match the shape are stored unshredded; nothing is lost.

    Raises:
        ValueError: a variant is malformed.
    """
    kind = arrow_type(group_type(shape, top=True))
    values, present = values_of(variants)
    metadata = variants.field(METADATA)
    parts = _parts(values, present, shape, kind, [metadata])
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=pa.array(~present) if not present.all() else None)


def values_of(variants: pa.StructArray) -> tuple[Values, Mask]:
    """The values of a column of variants, and the mask of non-null ones."""
    present = validity(variants)
    dictionaries, rows = Dictionaries.of(variants.field(METADATA), present)
    data, starts, _ = stretches_of(variants.field(VALUE))
    return Values(data, starts, rows, dictionaries), present


def _group(values: Values, present: Mask, shape: t.DataType, kind: pa.StructType) -> pa.StructArray:
    return pa.StructArray.from_arrays(_parts(values, present, shape, kind, []), fields=list(kind))


def _parts(
    values: Values, present: Mask, shape: t.DataType, kind: pa.StructType, before: list[pa.Array]
) -> list[pa.Array]:
    """The columns of a group; null for values that are not present."""
    match shape:
        case t.VariantType():
            return [*before, _unshredded(values, present)]
        case t.RowType():
            return [*before, *_object_parts(values, present, shape, kind.field(kind.num_fields - 1).type)]
        case t.ArrayType():
            return [*before, *_array_parts(values, present, shape, kind.field(kind.num_fields - 1).type)]
    fitting = typed(values, present, shape)
    return [*before, _unshredded(values, present & ~validity(fitting)), fitting]


def _unshredded(values: Values, present: Mask) -> pa.Array:
    """The encoded values; null where not present."""
    lengths = np.zeros(len(values), np.int64)
    lengths[present] = values.some(present).sizes
    return binary_of(values.data, values.at, lengths, present)


def _is(values: Values, present: Mask, basic: Basic) -> Mask:
    found = present.copy()
    found[present] = values.some(present).basic == basic
    return found


def _array_parts(values: Values, present: Mask, shape: t.ArrayType, kind: pa.ListType) -> list[pa.Array]:
    is_array = _is(values, present, Basic.ARRAY)
    inside = values.some(is_array).children()
    elements = _group(inside.values, np.ones(len(inside.values), np.bool_), shape.element, kind.value_type)
    offsets = np.zeros(len(values) + 1, np.int32)
    offsets[1:][is_array] = inside.counts
    np.cumsum(offsets, out=offsets)
    lists = pa.Array.from_buffers(kind, len(values), [bitmap(is_array), pa.py_buffer(offsets)], children=[elements])
    return [_unshredded(values, present & ~is_array), lists]


def _object_parts(values: Values, present: Mask, shape: t.RowType, kind: pa.StructType) -> list[pa.Array]:
    is_object = _is(values, present, Basic.OBJECT)
    rows_of_objects = np.flatnonzero(is_object)
    inside = values.some(is_object).children()
    names = [f.name for f in shape.fields]
    dictionaries = values.dictionaries
    field_of = np.full(len(dictionaries.names) + 1, -1, np.int64)
    field_of[dictionaries.numbers_of(names)] = np.arange(len(names))
    field_of[-1] = -1  # the item of names that no dictionary has
    fields = field_of[inside.keys]
    order = np.argsort(fields, kind="stable")
    bounds = np.searchsorted(fields[order], np.arange(-1, len(names) + 1))
    groups = []
    for i, field in enumerate(shape.fields):
        of_field = order[bounds[i + 1] : bounds[i + 2]]
        rows = rows_of_objects[inside.owners[of_field]]
        at, has = np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
        at[rows], has[rows] = inside.values.at[of_field], True
        child = Values(values.data, at, values.dictionary, dictionaries)
        groups.append(_group(child, has, field.type, kind.field(i).type))
    mask = None if is_object.all() else pa.array(~is_object)
    struct = pa.StructArray.from_arrays(groups, fields=list(kind), mask=mask)
    rest = _rest(inside, np.sort(order[: bounds[1]]), rows_of_objects, len(values))
    others = _unshredded(values, present & ~is_object)
    return [pc.coalesce(rest, others), struct]


def _rest(inside: Children, remaining: Longs, rows_of_objects: Longs, rows: int) -> pa.Array:
    """Encode the fields without a column as objects; null if there are none."""
    values = inside.values.some(remaining)
    counts = np.bincount(rows_of_objects[inside.owners[remaining]], minlength=rows)
    return packed(counts, binary_of(values.data, values.at, values.sizes), counts > 0, inside.ids[remaining])

"""Shredding of variants into typed columns of a shape, and their assembly (spec: Parquet, "Variant Shredding").

A ROW is for objects with these fields, an ARRAY for arrays, an atomic type for values of it, and VARIANT for values
that are not shredded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Longs, Mask, validity_buffer
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.variant.byte_ranges import binary_of, stretches_of, validity
from paimon_sql.format.variant.dictionaries import Dictionaries
from paimon_sql.format.variant.encode import encoded, packed
from paimon_sql.format.variant.scalars import is_scalar, scalar_type, typed
from paimon_sql.format.variant.values import NULL, Basic, Children, Values


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
    lists = pa.Array.from_buffers(
        kind, len(values), [validity_buffer(~is_array), pa.py_buffer(offsets)], children=[elements]
    )
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


METADATA, VALUE, TYPED_VALUE = "metadata", "value", "typed_value"


def group_type(shape: t.DataType, *, top: bool = False, in_object: bool = False) -> t.RowType:
    """The columns of a shredded variant.

    Args:
        shape: its shape.
        top: whether it is the root, which has the dictionary.
        in_object: whether it is a field of an object, which may be missing.

    Raises:
        ValueError: the shape has a type that variants do not support.
    """
    columns: list[tuple[str, t.DataType]] = [(METADATA, t.bytes_type(False))] if top else []
    inside = _typed_type(shape)
    columns.append((VALUE, t.bytes_type(inside is not None or in_object)))
    if inside is not None:
        columns.append((TYPED_VALUE, inside))
    return row_type(columns)


def row_type(columns: Sequence[tuple[str, t.DataType]]) -> t.RowType:
    """The ROW of columns with ids from 0 on."""
    return t.RowType(True, tuple(t.DataField(i, name, kind) for i, (name, kind) in enumerate(columns)))


def _typed_type(shape: t.DataType) -> t.DataType | None:
    match shape:
        case t.VariantType():
            return None
        case t.RowType() if shape.fields:
            groups = [(f.name, group_type(f.type, in_object=True).as_nullable(False)) for f in shape.fields]
            return row_type(groups)
        case t.ArrayType():
            return t.ArrayType(True, group_type(shape.element).as_nullable(False))
        case _ if is_scalar(shape):
            return scalar_type(shape)
    raise ValueError(f"a variant cannot be shredded as {shape.sql()}")


def assemble(columns: pa.StructArray, target: pa.StructType) -> pa.StructArray:
    """Assemble variants, structs of value and metadata, from the columns of a file.

    Parts of objects and arrays whose columns were not read are missing. A required value that is missing is the variant
    null.

    Args:
        columns: the columns that were read; at least the dictionaries and one other column.
        target: the type of the structs.

    Raises:
        ValueError: a column has a type that variants do not support, or a part is malformed.
    """
    present = validity(columns)
    metadata = columns.field(METADATA)
    dictionaries, rows = Dictionaries.of(metadata, present)
    lacking: set[tuple[int, str]] = set()
    values = _Group(columns, rows, dictionaries, lacking).values(present)
    if lacking:  # only in invalid files
        dictionaries = dictionaries.with_keys(lacking)
        metadata = dictionaries.encoded.take(pa.array(rows))
        values = _Group(columns, rows, dictionaries, set()).values(present)
    values = values.fill_null(pa.scalar(NULL, pa.binary()))
    parts = {VALUE: values, METADATA: metadata}
    mask = None if present.all() else pa.array(~present)
    return pa.StructArray.from_arrays([parts[f.name] for f in target], fields=list(target), mask=mask)


def _child(columns: pa.StructArray, name: str) -> pa.Array | None:
    at = columns.type.get_field_index(name)
    return None if at < 0 else columns.field(at)


@dataclass(frozen=True)
class _Group:
    """The columns of a value, and the dictionary of each row; ``lacking`` collects missing keys of dictionaries."""

    columns: pa.StructArray
    dictionary: Longs
    dictionaries: Dictionaries
    lacking: set[tuple[int, str]]

    def _below(self, columns: pa.StructArray, dictionary: Longs) -> _Group:
        return _Group(columns, dictionary, self.dictionaries, self.lacking)

    def values(self, wanted: Mask) -> pa.Array:
        """Encode the values; null if missing or not wanted."""
        typed, plain = _child(self.columns, TYPED_VALUE), _child(self.columns, VALUE)
        if plain is None:
            plain = pa.nulls(len(self.columns), pa.binary())
        plain = pc.if_else(pa.array(wanted), plain.cast(pa.binary()), pa.scalar(None, pa.binary()))
        if typed is None:
            return plain
        is_typed = validity(typed) & wanted
        if pa.types.is_struct(typed.type):
            return pc.coalesce(self._objects(typed, plain, is_typed), plain)
        if pa.types.is_list(typed.type) or pa.types.is_large_list(typed.type):
            return pc.coalesce(self._arrays(typed, is_typed), plain)
        return pc.coalesce(pc.if_else(pa.array(wanted), encoded(typed), pa.scalar(None, pa.binary())), plain)

    def _arrays(self, typed: pa.ListArray, wanted: Mask) -> pa.Array:
        some = typed.filter(pa.array(wanted))
        counts = np.zeros(len(typed), np.int64)
        counts[wanted] = some.value_lengths().to_numpy(zero_copy_only=False)
        elements = some.flatten()
        below = self._below(elements, np.repeat(self.dictionary, counts))
        values = below.values(validity(elements)).fill_null(pa.scalar(NULL, pa.binary()))
        return packed(counts, values, wanted)

    def _objects(self, typed: pa.StructArray, plain: pa.Array, wanted: Mask) -> pa.Array:
        names = [field.name for field in typed.type]
        children = [typed.field(i) for i in range(len(names))]
        fields = [self._below(child, self.dictionary).values(validity(child) & wanted) for child in children]
        # Fields without a column are in the value column, as objects without the keys of columns.
        rows = np.flatnonzero(validity(plain) & wanted)
        data, at, _ = stretches_of(plain)
        rest = Values(data, at[rows], self.dictionary[rows], self.dictionaries)
        if (rest.basic != Basic.OBJECT).any():
            raise ValueError("a variant has fields and is not an object")
        inside = rest.children()
        owners, keys, ids = [rows[inside.owners]], [inside.keys], [inside.ids]
        parts = [binary_of(data, inside.values.at, inside.values.sizes)]
        for name, values in zip(names, fields, strict=True):
            having = np.flatnonzero(validity(values))
            key_ids = self.dictionaries.ids_of(name)[self.dictionary[having]]
            self.lacking.update((int(number), name) for number in np.unique(self.dictionary[having[key_ids < 0]]))
            owners.append(having)
            keys.append(np.full(len(having), self.dictionaries.numbers_of([name])[0]))
            ids.append(key_ids)
            parts.append(values.drop_null())
        if self.lacking:
            return pa.nulls(len(typed), pa.binary())
        owner = np.concatenate(owners)
        order = np.lexsort((self.dictionaries.ranks[np.concatenate(keys)], owner))
        counts = np.bincount(owner, minlength=len(typed))
        return packed(counts, pa.concat_arrays(parts).take(pa.array(order)), wanted, np.concatenate(ids)[order])

"""Which leaves of a Parquet file's schema hold the wanted parts of columns; leaves are numbered from left to right."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from paimon_sql.format import types as t


def leaves_of(schema: pa.Schema, wanted: Iterable[t.DataField]) -> list[int]:
    """The numbers of the leaves that make up some columns, as far as the file has them.

    Of a struct, at any depth, only the fields that its type names are among them. Where the file has none of these,
    all are: a struct without a leaf would not tell where it is null.

    Args:
        schema: the file's schema as Arrow tells it, which has a part without children for each leaf.
        wanted: the columns.
    """
    by_name = {f.name: f.type for f in wanted}
    found: list[int] = []
    first = 0
    for field in schema:
        if field.name in by_name:
            found += _chosen(field.type, by_name[field.name], first)
        first += _count(field.type)
    return found


def _chosen(kind: pa.DataType, wanted: t.DataType, first: int) -> list[int]:
    if pa.types.is_struct(kind) and isinstance(wanted, t.RowType):
        types = {f.name: f.type for f in wanted.fields}
        found: list[int] = []
        at = first
        for inner in kind:
            if inner.name in types:
                found += _chosen(inner.type, types[inner.name], at)
            at += _count(inner.type)
        return found or list(range(first, at))
    if pa.types.is_map(kind) and isinstance(wanted, t.MapType):
        keys = _count(kind.key_type)
        return [*range(first, first + keys), *_chosen(kind.item_type, wanted.value, first + keys)]
    if _is_list(kind) and isinstance(wanted, t.ArrayType):
        return _chosen(kind.value_type, wanted.element, first)
    return list(range(first, first + _count(kind)))


def _count(kind: pa.DataType) -> int:
    """How many leaves a part of a schema has."""
    if pa.types.is_struct(kind):
        return sum(_count(inner.type) for inner in kind)
    if pa.types.is_map(kind):
        return _count(kind.key_type) + _count(kind.item_type)
    return _count(kind.value_type) if _is_list(kind) else 1


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))

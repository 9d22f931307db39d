"""Which leaves of a Parquet file's schema hold the wanted parts of columns; leaves are numbered from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.paths import Path
from paimon_sql.format.variant.shredding.shapes import TYPED_VALUE, VALUE


def leaves_of(schema: pa.Schema, wanted: Iterable[t.DataField]) -> list[int]:
    """The numbers of the leaves that make up some columns, as far as the file has them.

    Of a struct, at any depth, only the fields that its type names are among them. Where the file has none of these,
    all are: a struct without a leaf would not tell where it is null. Of a variant that was taken apart only those are
    among them that hold the wanted parts.

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
    if isinstance(wanted, t.VariantType) and wanted.paths is not None and pa.types.is_struct(kind):
        return _of_variant(kind, wanted.paths, first)
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


def _of_variant(group: pa.StructType, paths: Sequence[Path], first: int) -> list[int]:
    """Those leaves of a group of a variant's columns that hold the values at some paths from here.

    What has a column of its own is nowhere else: an object beside which others lie has only keys that no column takes.
    """
    typed = group.field(group.get_field_index(TYPED_VALUE)).type if group.get_field_index(TYPED_VALUE) >= 0 else None
    if typed is None or not all(paths):
        return list(range(first, first + _count(group)))
    below: dict[str | int, list[Path]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    apart = {step: rest for step, rest in below.items() if _has_column(typed, step)}
    left_out = {VALUE} if len(apart) == len(below) else set()
    found: list[int] = []
    at = first
    for part in group:
        if part.name == TYPED_VALUE:
            found += _of_typed(typed, apart, at)
        elif part.name not in left_out:
            found += range(at, at + _count(part.type))
        at += _count(part.type)
    return found


def _has_column(typed: pa.DataType, step: str | int) -> bool:
    if isinstance(step, str):
        return bool(pa.types.is_struct(typed) and typed.get_field_index(step) >= 0)
    return _is_list(typed)


def _of_typed(typed: pa.DataType, paths: dict[str | int, list[Path]], first: int) -> list[int]:
    if not pa.types.is_struct(typed):
        return _of_variant(typed.value_type, [p for rest in paths.values() for p in rest], first) if paths else []
    found: list[int] = []
    for field in typed:
        if field.name in paths:
            found += _of_variant(field.type, paths[field.name], first)
        first += _count(field.type)
    return found


def _count(kind: pa.DataType) -> int:
    """How many leaves a part of a schema has."""
    if pa.types.is_struct(kind):
        return sum(_count(inner.type) for inner in kind)
    if pa.types.is_map(kind):
        return _count(kind.key_type) + _count(kind.item_type)
    return _count(kind.value_type) if _is_list(kind) else 1


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))

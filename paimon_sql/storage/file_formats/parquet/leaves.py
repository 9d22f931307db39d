"""Projection of Parquet files: the leaves of the requested parts of columns, numbered from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.paths import Path
from paimon_sql.format.variant.shredding.shapes import TYPED_VALUE, VALUE


def leaves_of(schema: pa.Schema, wanted: Iterable[t.DataField]) -> list[int]:
    """Return the numbers of the leaves of columns, as far as the file has them.

    Of a struct, at any depth, only the fields of the requested type are included. If the file has none of them, all
    are: without a leaf it would be unknown where the struct is null. Of a shredded variant only the leaves of the
    requested paths are included.

    Args:
        schema: the file's schema in Arrow, with one childless part per leaf.
        wanted: the requested columns.
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
    """Return the leaves of a variant's column group that hold the values of paths relative to it.

    A shredded field is stored only in its typed column: the residual object of a group has only keys without a typed
    column.
    """
    typed = group.field(group.get_field_index(TYPED_VALUE)).type if group.get_field_index(TYPED_VALUE) >= 0 else None
    if typed is None or not all(paths):
        return list(range(first, first + _count(group)))
    paths_by_step: dict[str | int, list[Path]] = {}
    for path in paths:
        paths_by_step.setdefault(path[0], []).append(path[1:])
    shredded = {step: rest for step, rest in paths_by_step.items() if _has_column(typed, step)}
    skipped = {VALUE} if len(shredded) == len(paths_by_step) else set()
    found: list[int] = []
    at = first
    for part in group:
        if part.name == TYPED_VALUE:
            found += _of_typed(typed, shredded, at)
        elif part.name not in skipped:
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
    """Return the number of leaves of a part of a schema."""
    if pa.types.is_struct(kind):
        return sum(_count(inner.type) for inner in kind)
    if pa.types.is_map(kind):
        return _count(kind.key_type) + _count(kind.item_type)
    return _count(kind.value_type) if _is_list(kind) else 1


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))

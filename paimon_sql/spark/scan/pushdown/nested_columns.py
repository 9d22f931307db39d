"""Nested column pruning: columns of which a query needs only some inner fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, RowType


def narrowed(column: DataField, wanted: Any) -> DataField:
    """A column with only those inner fields, at any depth, that a type in Spark's JSON form has."""
    return replace(column, type=_part(column.type, wanted)) if column.type.children() else column


def parts_of(columns: Iterable[DataField], full: Iterable[DataField]) -> tuple[DataField, ...]:
    """The columns that have only some of their inner fields."""
    types = {f.name: f.type for f in full}
    return tuple(f for f in columns if f.name in types and types[f.name] != f.type)


def _part(kind: DataType, wanted: Any) -> DataType:
    match kind:
        case RowType():
            types = {f["name"]: f["type"] for f in wanted["fields"]}
            inner = tuple(replace(f, type=_part(f.type, types[f.name])) for f in kind.fields if f.name in types)
            return replace(kind, fields=inner) if inner else kind
        case ArrayType():
            return replace(kind, element=_part(kind.element, wanted["elementType"]))
        case MapType():
            return replace(kind, key=_part(kind.key, wanted["keyType"]), value=_part(kind.value, wanted["valueType"]))
    return kind

"""Nested column pruning: columns of which a query needs only some inner fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, RowType
from paimon_sql.spark.conversion.types import TypeJson


def narrowed(column: DataField, wanted: TypeJson | None) -> DataField:
    """A column with only those inner fields, at any depth, that a type in Spark's JSON form has."""
    return replace(column, type=_part(column.type, wanted)) if column.type.children() else column


def parts_of(columns: Iterable[DataField], full: Iterable[DataField]) -> tuple[DataField, ...]:
    """The columns that have only some of their inner fields."""
    types = {f.name: f.type for f in full}
    return tuple(f for f in columns if f.name in types and types[f.name] != f.type)


def _part(kind: DataType, wanted: TypeJson | None) -> DataType:
    if wanted is None or isinstance(wanted, str):
        return kind
    match kind:
        case RowType() if wanted["type"] == "struct":
            types = {f["name"]: f["type"] for f in wanted["fields"]}
            inner = tuple(replace(f, type=_part(f.type, types[f.name])) for f in kind.fields if f.name in types)
            return replace(kind, fields=inner) if inner else kind
        case ArrayType() if wanted["type"] == "array":
            return replace(kind, element=_part(kind.element, wanted["elementType"]))
        case MapType() if wanted["type"] == "map":
            return replace(kind, key=_part(kind.key, wanted["keyType"]), value=_part(kind.value, wanted["valueType"]))
    return kind

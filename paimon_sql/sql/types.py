"""Paimon's types in Spark's words, and the reserved table properties that keep what Spark's words lose.

Spark has no ``TIMESTAMP(3)``, ``VARBINARY(10)``, ``TIME`` of Paimon's or ``MULTISET``: such a column is declared to
Spark as the type that it reads as, and its exact type travels beside it in the table property
``paimon-sql.type.<column>``, which the catalog takes out again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from paimon_sql.format.types import (
    MAX_LENGTH,
    ArrayType,
    BinaryType,
    BlobType,
    DataField,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VectorType,
    parse_type,
)
from paimon_sql.sql.names import quote_name, string_sql

TYPE_PROPERTY = "paimon-sql.type."
"""The beginning of the reserved properties; the column's name follows, its letter case kept."""

_SPARK_PRECISION = 6


def spark_type(data_type: DataType) -> str:
    """The type that Spark shows for a column of this type, as it is written in DDL; without NOT NULL.

    A time of day is its milliseconds as INT, as in Paimon's own connector.
    """
    if isinstance(data_type, TimestampType):
        return "TIMESTAMP_NTZ"
    if isinstance(data_type, LocalZonedTimestampType):
        return "TIMESTAMP_LTZ"
    if isinstance(data_type, TimeType):
        return "INT"
    if isinstance(data_type, BinaryType | VarBinaryType | BlobType):
        return "BINARY"
    if isinstance(data_type, ArrayType | VectorType):
        return f"ARRAY<{spark_type(data_type.element)}>"
    if isinstance(data_type, MultisetType):
        return f"MAP<{spark_type(data_type.element)}, INT>"
    if isinstance(data_type, MapType):
        return f"MAP<{spark_type(data_type.key)}, {spark_type(data_type.value)}>"
    if isinstance(data_type, RowType):
        return f"STRUCT<{', '.join(_spark_field(f) for f in data_type.fields)}>"
    return data_type.as_nullable().sql()


def _spark_field(field: DataField) -> str:
    nullability = "" if field.type.nullable else " NOT NULL"
    comment = f" COMMENT {string_sql(field.description)}" if field.description else ""
    return f"{quote_name(field.name)}: {spark_type(field.type)}{nullability}{comment}"


def is_exact(data_type: DataType) -> bool:
    """Whether Spark's type alone leads back to this type; nullability of the type itself does not count."""
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return data_type.precision == _SPARK_PRECISION
    if isinstance(data_type, VarBinaryType):
        return data_type.length == MAX_LENGTH
    if isinstance(data_type, TimeType | BinaryType | BlobType | MultisetType | VectorType):
        return False
    if isinstance(data_type, ArrayType):
        return data_type.element.nullable and is_exact(data_type.element)
    if isinstance(data_type, MapType):  # Spark's map keys are never null
        return not data_type.key.nullable and data_type.value.nullable and all(map(is_exact, data_type.children()))
    return all(map(is_exact, data_type.children()))


def type_text(data_type: DataType) -> str:
    """The exact type as one line: Paimon's SQL of an atomic type, the JSON of a schema file of any other."""
    body = data_type.to_json()
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def read_type_text(text: str) -> DataType:
    """The type that ``type_text`` wrote; ids of fields inside it are only their order."""
    return parse_type(json.loads(text) if text.startswith("{") else text)


def take_types(properties: Mapping[str, str]) -> tuple[dict[str, DataType], dict[str, str]]:
    """Split a table's properties into the exact types of its columns, by name, and those that are the user's."""
    types = {k[len(TYPE_PROPERTY) :]: read_type_text(v) for k, v in properties.items() if k.startswith(TYPE_PROPERTY)}
    return types, {k: v for k, v in properties.items() if not k.startswith(TYPE_PROPERTY)}

"""Spark types of Paimon's types, and table properties for the exact types that Spark cannot declare.

Spark has no ``TIMESTAMP(3)``, ``VARBINARY(10)``, Paimon's ``TIME`` or ``MULTISET``. Such a column is declared with the
Spark type that it is read as; its exact type is in the table property ``paimon-sql.type.<column>``, which the catalog
removes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from paimon_sql.format.schema import types as t
from paimon_sql.sql.text.names import quote_name, string_sql

TYPE_PROPERTY = "paimon-sql.type."
"""Prefix of the reserved properties; the column's name follows, in its letter case."""

_SPARK_PRECISION = 6


def spark_type(data_type: t.DataType) -> str:
    """The Spark type of a column, as DDL without NOT NULL.

    A time of day is its milliseconds as INT (Paimon: Spark connector).
    """
    if isinstance(data_type, t.TimestampType):
        return "TIMESTAMP_NTZ"
    if isinstance(data_type, t.LocalZonedTimestampType):
        return "TIMESTAMP_LTZ"
    if isinstance(data_type, t.TimeType):
        return "INT"
    if isinstance(data_type, t.BinaryType | t.VarBinaryType | t.BlobType):
        return "BINARY"
    if isinstance(data_type, t.ArrayType | t.VectorType):
        return f"ARRAY<{spark_type(data_type.element)}>"
    if isinstance(data_type, t.MultisetType):
        return f"MAP<{spark_type(data_type.element)}, INT>"
    if isinstance(data_type, t.MapType):
        return f"MAP<{spark_type(data_type.key)}, {spark_type(data_type.value)}>"
    if isinstance(data_type, t.RowType):
        return f"STRUCT<{', '.join(_field(f, spark_type(f.type)) for f in data_type.fields)}>"
    return data_type.as_nullable().sql()


def _field(field: t.DataField, type_sql: str) -> str:
    """The field of a struct, with its type as it is written without NOT NULL."""
    nullability = "" if field.type.nullable else " NOT NULL"
    comment = f" COMMENT {string_sql(field.description)}" if field.description else ""
    return f"{quote_name(field.name)}: {type_sql}{nullability}{comment}"


def declared_type(data_type: t.DataType) -> str:
    """The type as CREATE TABLE of Paimon's tables reads it exactly, with USING and without, and without NOT NULL.

    A type that Spark cannot declare has at least one spelling that Spark does not know.
    """
    return spark_type(data_type) if is_exact(data_type) else _exact(data_type)


def _exact(data_type: t.DataType) -> str:
    if isinstance(data_type, t.TimeType) or (
        isinstance(data_type, t.TimestampType) and data_type.precision >= _SPARK_PRECISION
    ):
        return f"{data_type.as_nullable().sql()} WITHOUT TIME ZONE"  # without these words it may be a type of Spark
    if isinstance(data_type, t.LocalZonedTimestampType):
        return f"TIMESTAMP_LTZ({data_type.precision})"
    if isinstance(data_type, t.ArrayType):
        return f"ARRAY<{_inner(data_type.element)}>"
    if isinstance(data_type, t.VectorType):
        return f"VECTOR<{_inner(data_type.element)}, {data_type.length}>"
    if isinstance(data_type, t.MultisetType):
        return f"MULTISET<{_inner(data_type.element)}>"
    if isinstance(data_type, t.MapType):
        # Spark's map keys are never null.
        nullable_key = " NULL" if data_type.key.nullable else ""
        return f"MAP<{_inner(data_type.key)}{nullable_key}, {_inner(data_type.value)}>"
    if isinstance(data_type, t.RowType):
        return f"STRUCT<{', '.join(_field(f, _exact(f.type)) for f in data_type.fields)}>"
    return data_type.as_nullable().sql()


def _inner(data_type: t.DataType) -> str:
    return _exact(data_type) + ("" if data_type.nullable else " NOT NULL")


def is_exact(data_type: t.DataType) -> bool:
    """Whether the Spark type determines this type, apart from its own nullability."""
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return data_type.precision == _SPARK_PRECISION
    if isinstance(data_type, t.VarBinaryType):
        return data_type.length == t.MAX_LENGTH
    if isinstance(data_type, t.TimeType | t.BinaryType | t.BlobType | t.MultisetType | t.VectorType):
        return False
    if isinstance(data_type, t.ArrayType):
        return data_type.element.nullable and is_exact(data_type.element)
    if isinstance(data_type, t.MapType):  # Spark's map keys are never null
        return not data_type.key.nullable and data_type.value.nullable and all(map(is_exact, data_type.children()))
    return all(map(is_exact, data_type.children()))


def type_text(data_type: t.DataType) -> str:
    """Encode the exact type in one line: SQL for an atomic type, else the JSON of schema files (spec: Schema)."""
    body = data_type.to_json()
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def read_type_text(text: str) -> t.DataType:
    """Decode the text of `type_text`; field ids inside are only ordinals."""
    return t.parse_type(json.loads(text) if text.startswith("{") else text)


def take_types(properties: Mapping[str, str]) -> tuple[dict[str, t.DataType], dict[str, str]]:
    """Split table properties into the exact types by column, and the user's properties."""
    types = {k[len(TYPE_PROPERTY) :]: read_type_text(v) for k, v in properties.items() if k.startswith(TYPE_PROPERTY)}
    return types, {k: v for k, v in properties.items() if not k.startswith(TYPE_PROPERTY)}

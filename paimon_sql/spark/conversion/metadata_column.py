"""Metadata columns: Spark's ``MetadataColumn`` of a table.

Spark reads all attributes of all metadata columns for each relation of a query, so they are JVM objects, not proxies.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import spark_type, without_lengths
from paimon_sql.spark.jvm.compiled_class import compiled_class
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm

_COLUMN = f"{CATALOG}.MetadataColumn"
_TYPE = "org.apache.spark.sql.types.DataType"
_MEMBERS = (
    "private String name;",
    f"private {_TYPE} type;",
    "private boolean nullable;",
    "private String comment;",
    f"""public HiddenColumn(String name, {_TYPE} type, boolean nullable, String comment) {{
        this.name = name; this.type = type; this.nullable = nullable; this.comment = comment;
    }}""",
    "public String name() { return name; }",
    f"public {_TYPE} dataType() {{ return type; }}",
    "public boolean isNullable() { return nullable; }",
    "public String comment() { return comment; }",
    "public String toString() { return name; }",
)


def hidden_columns(jvm: Jvm, fields: Sequence[DataField]) -> Any:
    """Metadata columns as a ``MetadataColumn[]``, cached by their fields, which most tables share."""

    def make() -> Any:
        return jvm.array(_COLUMN, [_hidden_column(jvm, f) for f in fields])

    return jvm.constant(f"hidden columns {json.dumps([f.to_json() for f in fields])}", make)


def _hidden_column(jvm: Jvm, field: DataField) -> Any:
    def constructor() -> Any:
        made = compiled_class(jvm, "paimon.HiddenColumn", _MEMBERS, beside=_COLUMN, interfaces=[_COLUMN])
        return made.getConstructors()[0]

    # Spark replaces CHAR and VARCHAR only in a table's regular columns.
    kind = jvm.struct(json.dumps(without_lengths(spark_type(field.type))))
    arguments = jvm.array("java.lang.Object", [field.name, kind, field.type.nullable, field.description])
    return jvm.constant("constructor of hidden columns", constructor).newInstance(arguments)

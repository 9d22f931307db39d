"""Names in Spark's connector interfaces: table names, column references, sort orders and metadata columns.

Spark reads all attributes of all metadata columns for each relation of a query, so they are JVM objects, not proxies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import spark_type, without_lengths
from paimon_sql.spark.java.catalyst import Attribute, Expression
from paimon_sql.spark.java.connector import ConnectorExpression, SortOrder
from paimon_sql.spark.java.objects import JavaObject, Member
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, DATA_TYPE, EXPRESSIONS, Jvm
from paimon_sql.storage.scan.top_n import TopN

_EXPRESSIONS = f"{CONNECTOR}.expressions"


def reference_to(jvm: Jvm, column: str) -> ConnectorExpression:
    """A column as a ``NamedReference``; of a string Spark would parse the dots."""
    return jvm.cls(f"{_EXPRESSIONS}.FieldReference").apply(jvm.seq([column]))


def references_to(jvm: Jvm, columns: Iterable[str]) -> Sequence[ConnectorExpression]:
    """Columns as a ``NamedReference[]``."""
    return jvm.array(f"{_EXPRESSIONS}.NamedReference", [reference_to(jvm, name) for name in columns])


def partitioned_by(jvm: Jvm, columns: Iterable[str]) -> Sequence[JavaObject]:
    """Partition columns as Spark's ``Transform[]``."""
    transforms = [jvm.new(f"{_EXPRESSIONS}.IdentityTransform", reference_to(jvm, name)) for name in columns]
    return jvm.array(f"{_EXPRESSIONS}.Transform", transforms)


def column_of(expression: ConnectorExpression) -> str | None:
    """The column that a connector's expression refers to; None if it is another expression or a nested field."""
    if expression.getClass().getSimpleName() != "FieldReference":
        return None
    names = list(expression.fieldNames())
    return names[0] if len(names) == 1 else None


_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def unquoted_parts(text: str) -> list[str]:
    """The unquoted parts of a name in the notation of ``Identifier.toString``, which quotes only where necessary."""
    return [plain or quoted.replace("``", "`") for quoted, plain in _PART.findall(text)]


def first_in_order(orders: Sequence[SortOrder], limit: int, schema: TableSchema) -> TopN | None:
    """The top-n of a query; None if its first order is not by a column.

    Args:
        orders: Spark's ``SortOrder``s.
        limit: the number of rows.
        schema: the schema of the table.
    """
    first = orders[0]
    name = column_of(first.expression())
    if name is None or name not in schema.names:
        return None
    descending = first.direction().name() == "DESCENDING"
    return TopN(name, descending, first.nullOrdering().name() == "NULLS_FIRST", limit, alone=len(orders) == 1)


def ascending(jvm: Jvm, attribute: Attribute) -> Expression:
    """Catalyst's ascending order by an attribute, which sort-merge joins require."""
    direction = jvm.singleton(f"{EXPRESSIONS}.Ascending")
    return jvm.singleton(f"{EXPRESSIONS}.SortOrder").apply(attribute, direction, jvm.nil)


_COLUMN = f"{CATALOG}.MetadataColumn"
_MEMBERS = (
    "private String name;",
    f"private {DATA_TYPE} type;",
    "private boolean nullable;",
    "private String comment;",
    f"""public HiddenColumn(String name, {DATA_TYPE} type, boolean nullable, String comment) {{
        this.name = name; this.type = type; this.nullable = nullable; this.comment = comment;
    }}""",
    "public String name() { return name; }",
    f"public {DATA_TYPE} dataType() {{ return type; }}",
    "public boolean isNullable() { return nullable; }",
    "public String comment() { return comment; }",
    "public String toString() { return name; }",
)


def hidden_columns(jvm: Jvm, fields: Sequence[DataField]) -> Sequence[JavaObject]:
    """Metadata columns as a ``MetadataColumn[]``, cached by their fields, which most tables share."""

    def make() -> Sequence[JavaObject]:
        return jvm.array(_COLUMN, [_hidden_column(jvm, f) for f in fields])

    return jvm.constant(f"hidden columns {json.dumps([f.to_json() for f in fields])}", make)


def _hidden_column(jvm: Jvm, field: DataField) -> JavaObject:
    def constructor() -> Member:
        made = jvm.compiled_class("paimon.HiddenColumn", _MEMBERS, beside=_COLUMN, interfaces=[_COLUMN])
        return made.getConstructors()[0]

    # Spark replaces CHAR and VARCHAR only in a table's regular columns.
    kind = jvm.struct(without_lengths(spark_type(field.type)))
    arguments = jvm.objects([field.name, kind, field.type.nullable, field.description])
    return jvm.constant("constructor of hidden columns", constructor).newInstance(arguments)

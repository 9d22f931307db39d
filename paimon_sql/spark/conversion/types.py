"""Conversion of Paimon's types to Spark's and back, in Spark's JSON form of types.

Spark has neither a precision of timestamps nor a length of bytes: a TIMESTAMP(p) is ``timestamp_ntz``, one with local
time zone ``timestamp``, all bytes are ``binary``, a time of day is ``integer`` milliseconds, a multiset is a map to
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.spark.conversion.defaults import default_sql

CURRENT_DEFAULT = "CURRENT_DEFAULT"
"""Key in a column's metadata of the default value for new rows, as SQL (Spark: ``ResolveDefaultColumns``)."""

_TO_SPARK: dict[type[t.DataType], str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "byte",
    t.SmallIntType: "short",
    t.IntType: "integer",
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.BinaryType: "binary",
    t.VarBinaryType: "binary",
    t.BlobType: "binary",
    t.DateType: "date",
    t.TimeType: "integer",
    t.TimestampType: "timestamp_ntz",
    t.LocalZonedTimestampType: "timestamp",
    t.VariantType: "variant",
}

_FROM_SPARK: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "byte": t.TinyIntType(),
    "short": t.SmallIntType(),
    "integer": t.IntType(),
    "long": t.BigIntType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "string": t.string_type(),
    "binary": t.bytes_type(),
    "date": t.DateType(),
    "timestamp": t.LocalZonedTimestampType(),
    "timestamp_ntz": t.TimestampType(),
    "variant": t.VariantType(),
}

_PARAMETERS = re.compile(r"(decimal|char|varchar)\s*\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)")


def spark_type(data_type: t.DataType) -> Any:
    """A type in Spark's JSON form: a string or an object."""
    if type(data_type) in _TO_SPARK:
        return _TO_SPARK[type(data_type)]
    if isinstance(data_type, t.DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, t.CharType):
        return f"char({data_type.length})"
    if isinstance(data_type, t.VarCharType):
        return "string" if data_type.length == t.MAX_LENGTH else f"varchar({data_type.length})"
    if isinstance(data_type, (t.ArrayType, t.VectorType)):
        element = data_type.element
        return {"type": "array", "elementType": spark_type(element), "containsNull": element.nullable}
    if isinstance(data_type, t.MultisetType):
        return _spark_map(spark_type(data_type.element), "integer", False)
    if isinstance(data_type, t.MapType):
        return _spark_map(spark_type(data_type.key), spark_type(data_type.value), data_type.value.nullable)
    if isinstance(data_type, t.RowType):
        return spark_struct(data_type.fields)
    raise InvalidSchemaError(f"{data_type} has no counterpart in Spark.")


def _spark_map(key: Any, value: Any, nullable: bool) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nullable}


def spark_struct(fields: Iterable[t.DataField]) -> dict[str, Any]:
    """Columns as a Spark struct; descriptions become comments, defaults ``CURRENT_DEFAULT``.

    Rows of files without the column never have its default, so ``EXISTS_DEFAULT`` is left out.
    """
    return {
        "type": "struct",
        "fields": [
            {
                "name": f.name,
                "type": spark_type(f.type),
                "nullable": f.type.nullable,
                "metadata": _metadata(f),
            }
            for f in fields
        ],
    }


def row_struct(fields: Iterable[t.DataField]) -> dict[str, Any]:
    """Columns as the Spark struct of their rows, with `string` for CHAR and VARCHAR."""
    return {
        "type": "struct",
        "fields": [{**f, "type": without_lengths(f["type"])} for f in spark_struct(fields)["fields"]],
    }


def without_lengths(kind: Any) -> Any:
    """A type in Spark's JSON form, with `string` for CHAR and VARCHAR at any depth."""
    if isinstance(kind, str):
        return "string" if kind.startswith(("char(", "varchar(")) else kind
    if kind["type"] == "struct":
        return {**kind, "fields": [{**f, "type": without_lengths(f["type"])} for f in kind["fields"]]}
    return {key: without_lengths(part) if key.endswith("Type") else part for key, part in kind.items()}


def _metadata(field: t.DataField) -> dict[str, str]:
    default = default_sql(field)
    known = {"comment": field.description, CURRENT_DEFAULT: default}
    return {key: text for key, text in known.items() if text is not None}


def paimon_type(json: Any, nullable: bool = True) -> t.DataType:
    """The Paimon type of a Spark type in its JSON form.

    Raises:
        InvalidSchemaError: Paimon has no such type, or a string has a collation.
    """
    if isinstance(json, str):
        return _atomic(json).as_nullable(nullable)
    kind = json["type"]
    if kind == "array":
        return t.ArrayType(nullable, paimon_type(json["elementType"], json["containsNull"]))
    if kind == "map":
        key = paimon_type(json["keyType"], False)
        return t.MapType(nullable, key, paimon_type(json["valueType"], json["valueContainsNull"]))
    if kind == "struct":
        return t.RowType(nullable, paimon_fields(json))
    raise InvalidSchemaError(f"Spark's type {kind} cannot be stored in a Paimon table.")


_COLLATIONS = "__COLLATIONS"
"""Key in a column's metadata of Spark's collations other than UTF8_BINARY."""
_COLLATE = " collate "
_PLAIN_COLLATION = f"{_COLLATE}UTF8_BINARY"


def _atomic(name: str) -> t.DataType:
    # SHOW CREATE TABLE writes the default collation, and Paimon always compares bytes.
    name = name.removesuffix(_PLAIN_COLLATION)
    if _COLLATE in name:
        raise _collated("A text")
    if name in _FROM_SPARK:
        return _FROM_SPARK[name]
    if name == "decimal":
        return t.DecimalType()
    if match := _PARAMETERS.fullmatch(name):
        first = int(match[2])
        if match[1] == "decimal":
            return t.DecimalType(True, first, int(match[3] or 0))
        return t.CharType(True, first) if match[1] == "char" else t.VarCharType(True, first)
    raise InvalidSchemaError(f"Spark's type {name} cannot be stored in a Paimon table.")


def _collated(what: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"{what} has a collation, which Paimon does not keep: texts are compared by their bytes.",
        remedy="Leave COLLATE out, and write it where the column is compared.",
    )


def paimon_fields(struct: Mapping[str, Any]) -> tuple[t.DataField, ...]:
    """The columns of a Spark struct; their ids are all -1, for the creator of the schema to assign."""
    for f in struct["fields"]:
        if _COLLATIONS in f.get("metadata", {}):
            raise _collated(f"Column '{f['name']}'")
    return tuple(
        t.DataField(
            id=-1,
            name=f["name"],
            type=paimon_type(f["type"], f["nullable"]),
            description=f.get("metadata", {}).get("comment"),
            default=f.get("metadata", {}).get(CURRENT_DEFAULT),
        )
        for f in struct["fields"]
    )

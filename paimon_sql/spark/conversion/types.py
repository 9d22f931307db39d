"""Conversion of Paimon's types and default values to Spark's, and of types back, in Spark's JSON form of types.

Spark has neither a precision of timestamps nor a length of bytes: a TIMESTAMP(p) is ``timestamp_ntz``, one with local
time zone ``timestamp``, all bytes are ``binary``, a time of day is ``integer`` milliseconds, a multiset is a map to
counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, TypedDict

import pyarrow as pa

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.spark.java.catalyst import DataType, StructType
from paimon_sql.spark.jvm.compat import builtin_function
from paimon_sql.sql.types import spark_type as sql_type
from paimon_sql.storage.columns.defaults import default_constant, default_scalar
from paimon_sql.storage.columns.literals import Constant, ConstantCall, ConstantText, quoted
from paimon_sql.storage.expressions.casts import cast

CURRENT_DEFAULT = "CURRENT_DEFAULT"
"""Key in a column's metadata of the default value for new rows, as SQL (Spark: ``ResolveDefaultColumns``)."""


class ArrayJson(TypedDict):
    """An array in Spark's JSON form of types."""

    type: Literal["array"]
    elementType: TypeJson
    containsNull: bool


class MapJson(TypedDict):
    """A map."""

    type: Literal["map"]
    keyType: TypeJson
    valueType: TypeJson
    valueContainsNull: bool


class FieldJson(TypedDict):
    """A field of a struct."""

    name: str
    type: TypeJson
    nullable: bool
    metadata: dict[str, object]


class StructJson(TypedDict):
    """A struct."""

    type: Literal["struct"]
    fields: list[FieldJson]


TypeJson: TypeAlias = str | ArrayJson | MapJson | StructJson

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
_TO_SPARK = {type(kind): name for name, kind in _FROM_SPARK.items() if name != "string"} | {
    t.BinaryType: "binary",
    t.BlobType: "binary",
    t.TimeType: "integer",
}

_PARAMETERS = re.compile(r"(decimal|char|varchar)\s*\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)")


def type_json(kind: DataType) -> TypeJson:
    """A type of Spark in its JSON form."""
    found: TypeJson = json.loads(kind.json())
    return found


def struct_json(struct: StructType) -> StructJson:
    """A struct of Spark in its JSON form."""
    found: StructJson = json.loads(struct.json())
    return found


def struct_of(fields: Iterable[FieldJson]) -> StructJson:
    """A struct of these fields."""
    return {"type": "struct", "fields": list(fields)}


def spark_type(data_type: t.DataType) -> TypeJson:
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


def _spark_map(key: TypeJson, value: TypeJson, nullable: bool) -> MapJson:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nullable}


def spark_struct(fields: Iterable[t.DataField]) -> StructJson:
    """Columns as a Spark struct; descriptions become comments, defaults ``CURRENT_DEFAULT``.

    Rows of files without the column never have its default, so ``EXISTS_DEFAULT`` is left out.
    """
    return struct_of(
        {"name": f.name, "type": spark_type(f.type), "nullable": f.type.nullable, "metadata": _metadata(f)}
        for f in fields
    )


def row_struct(fields: Iterable[t.DataField]) -> StructJson:
    """Columns as the Spark struct of their rows, with `string` for CHAR and VARCHAR."""
    return struct_inside(spark_struct(fields))


def struct_inside(struct: StructJson) -> StructJson:
    """A struct with `string` for CHAR and VARCHAR at any depth."""
    return struct_of({**f, "type": without_lengths(f["type"])} for f in struct["fields"])


def without_lengths(kind: TypeJson) -> TypeJson:
    """A type in Spark's JSON form, with `string` for CHAR and VARCHAR at any depth."""
    return with_atoms(kind, lambda name: "string" if name.startswith(("char(", "varchar(")) else name)


def with_atoms(kind: TypeJson, atom: Callable[[str], TypeJson], keys: TypeJson | None = None) -> TypeJson:
    """A type in Spark's JSON form with its atomic types changed, at any depth; ``keys`` replaces the keys of maps."""

    def inner(part: TypeJson) -> TypeJson:
        return with_atoms(part, atom, keys)

    if isinstance(kind, str):
        return atom(kind)
    if kind["type"] == "array":
        return {**kind, "elementType": inner(kind["elementType"])}
    if kind["type"] == "map":
        return {**kind, "keyType": keys or inner(kind["keyType"]), "valueType": inner(kind["valueType"])}
    return struct_of({**f, "type": inner(f["type"])} for f in kind["fields"])


def _metadata(field: t.DataField) -> dict[str, object]:
    default = default_sql(field)
    known = {"comment": field.description, CURRENT_DEFAULT: default}
    return {key: text for key, text in known.items() if text is not None}


def paimon_type(kind: TypeJson, nullable: bool = True) -> t.DataType:
    """The Paimon type of a Spark type in its JSON form.

    Raises:
        InvalidSchemaError: Paimon has no such type, or a string has a collation.
    """
    if isinstance(kind, str):
        return _atomic(kind).as_nullable(nullable)
    if kind["type"] == "array":
        return t.ArrayType(nullable, paimon_type(kind["elementType"], kind["containsNull"]))
    if kind["type"] == "map":
        key = paimon_type(kind["keyType"], False)
        return t.MapType(nullable, key, paimon_type(kind["valueType"], kind["valueContainsNull"]))
    if kind["type"] == "struct":
        return t.RowType(nullable, paimon_fields(kind))
    raise InvalidSchemaError(f"Spark's type {kind['type']} cannot be stored in a Paimon table.")


def text_of(field: FieldJson, key: str) -> str | None:
    """A string of a field's metadata; None if it is not set."""
    found = field.get("metadata", {}).get(key)
    return None if found is None else str(found)


_COLLATIONS = "__COLLATIONS"
"""Key in a column's metadata of Spark's collations other than UTF8_BINARY."""
_COLLATE = " collate "
_PLAIN_COLLATION = f"{_COLLATE}UTF8_BINARY"


def _atomic(name: str) -> t.DataType:
    # SHOW CREATE TABLE writes the default collation, and Paimon always compares bytes.
    name = name.removesuffix(_PLAIN_COLLATION)
    if _COLLATE in name:
        raise _collated("A string")
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
        f"{what} has a collation, which Paimon does not support: strings are compared by their bytes.",
        remedy="Leave COLLATE out, and use it where the column is compared.",
    )


def paimon_fields(struct: StructJson) -> tuple[t.DataField, ...]:
    """The columns of a Spark struct; their ids are all -1, for the creator of the schema to assign."""
    for f in struct["fields"]:
        if _COLLATIONS in f.get("metadata", {}):
            raise _collated(f"Column '{f['name']}'")
    return tuple(
        t.DataField(
            id=-1,
            name=f["name"],
            type=paimon_type(f["type"], f["nullable"]),
            description=text_of(f, "comment"),
            default=text_of(f, CURRENT_DEFAULT),
        )
        for f in struct["fields"]
    )


_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_DAY = r"\d{4}-\d{2}-\d{2}"
_TIME = re.compile(rf"{_DAY}([ T]\d{{2}}:\d{{2}}:\d{{2}}(\.\d{{1,6}})?)?")
_LITERALS: dict[type[t.DataType], tuple[re.Pattern[str], str]] = {
    t.DoubleType: (_NUMBER, "{}D"),
    t.FloatType: (_NUMBER, "{}F"),
    t.DateType: (re.compile(_DAY), "DATE '{}'"),
    t.TimestampType: (_TIME, "TIMESTAMP_NTZ '{}'"),
    t.LocalZonedTimestampType: (_TIME, "TIMESTAMP_LTZ '{}'"),
}
"""Literals that `CREATE TABLE` reads back, with the pattern of their text; it does not accept a cast as a constant."""
_SUFFIXES: dict[type[t.DataType], str] = {t.TinyIntType: "Y", t.SmallIntType: "S", t.IntType: "", t.BigIntType: "L"}
"""Suffixes that make an integer a literal of exactly that type."""
_NUMBERS = (*_SUFFIXES, t.DecimalType)
_BYTES = (t.BinaryType, t.VarBinaryType)


def default_sql(field: t.DataField) -> str | None:
    """A Spark SQL expression of a column's default value; None without a default.

    Text that cannot be parsed is passed to Spark unchanged, so that it fails only when a row needs the default.
    """
    try:
        constant = default_constant(field)
        default_scalar(field)
    except InvalidSchemaError:
        return field.default
    if constant is None:
        return None
    return _nested(constant, field.type) if isinstance(constant, ConstantCall) else _atom(constant, field.type)


def _part(constant: Constant, data_type: t.DataType) -> str:
    """A part of a nested value with exactly its type: inside of defaults Spark casts only to wider types."""
    if isinstance(constant, ConstantCall):
        return _nested(constant, data_type)
    text = constant.text
    if text is not None and _INTEGER.fullmatch(text) and (suffix := _SUFFIXES.get(type(data_type))) is not None:
        return text + suffix
    if isinstance(data_type, t.DecimalType) and text is not None and _NUMBER.fullmatch(text):
        return f"{cast(pa.array([text]), t.string_type(), data_type)[0].as_py():f}BD"
    return _atom(constant, data_type)


def _nested(constant: ConstantCall, data_type: t.DataType) -> str:
    match data_type:
        case t.RowType():
            named = [
                f"{quoted(f.name)}, {_part(part, f.type)}"
                for f, part in zip(data_type.fields, constant.parts, strict=False)
            ]
            return f"{builtin_function('named_struct')}({', '.join(named)})"
        case t.MapType():
            sides = (data_type.key, data_type.value)
            parts = (_part(part, sides[i % 2]) for i, part in enumerate(constant.parts))
            return f"{builtin_function('map')}({', '.join(parts)})"
    element = data_type.children()[0]
    return f"{builtin_function('array')}({', '.join(_part(part, element) for part in constant.parts)})"


def _atom(constant: ConstantText, data_type: t.DataType) -> str:
    text = constant.text
    if text is None:
        return "NULL"
    if isinstance(data_type, t.CharType | t.VarCharType):
        return quoted(text)
    if isinstance(data_type, _BYTES):
        return f"X'{text.encode().hex().upper()}'"
    if isinstance(data_type, t.TimeType):  # to Spark the milliseconds of the day
        return str(cast(pa.array([text]), t.string_type(), data_type)[0].value)
    plain = isinstance(data_type, _NUMBERS) and _NUMBER.fullmatch(text)
    if plain or (isinstance(data_type, t.BooleanType) and text.lower() in ("true", "false")):
        return text
    pattern, literal = _LITERALS.get(type(data_type), (None, ""))
    if pattern is not None and pattern.fullmatch(text):
        return literal.format(text)
    return f"CAST({quoted(text)} AS {sql_type(data_type)})"

"""Default values as Spark SQL, from the text that a schema file stores."""

from __future__ import annotations

import re

import pyarrow as pa

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.spark.jvm.compat import builtin_function
from paimon_sql.sql.types import spark_type
from paimon_sql.storage.columns.defaults import default_constant, default_scalar
from paimon_sql.storage.columns.literals import Constant, ConstantCall, ConstantText, quoted
from paimon_sql.storage.expressions.casts import cast

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
    return f"CAST({quoted(text)} AS {spark_type(data_type)})"

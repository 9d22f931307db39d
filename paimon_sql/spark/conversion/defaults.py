"""Default values as Spark reads them: SQL for the text that a schema file keeps."""

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

_WHOLE = re.compile(r"[+-]?\d+")
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
"""Literals that `CREATE TABLE` reads back, by what a text must look like; a cast is no constant there."""
_SUFFIXES: dict[type[t.DataType], str] = {t.TinyIntType: "Y", t.SmallIntType: "S", t.IntType: "", t.BigIntType: "L"}
"""What makes a whole number a literal of just that type."""
_NUMBERS = (*_SUFFIXES, t.DecimalType)
_BYTES = (t.BinaryType, t.VarBinaryType)


def default_sql(field: t.DataField) -> str | None:
    """An expression of Spark SQL that gives a column's default value; None without a default.

    A text that cannot be read goes to Spark as it is, which refuses it when a row needs it, and not before.
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
    """A part of a nested value, of just its type: Spark casts no part of a default but to a wider type."""
    if isinstance(constant, ConstantCall):
        return _nested(constant, data_type)
    text = constant.text
    if text is not None and _WHOLE.fullmatch(text) and (suffix := _SUFFIXES.get(type(data_type))) is not None:
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
    if isinstance(data_type, t.TimeType):  # Spark sees the milliseconds of the day
        return str(cast(pa.array([text]), t.string_type(), data_type)[0].value)
    plain = isinstance(data_type, _NUMBERS) and _NUMBER.fullmatch(text)
    if plain or (isinstance(data_type, t.BooleanType) and text.lower() in ("true", "false")):
        return text
    looks, literal = _LITERALS.get(type(data_type), (None, ""))
    if looks is not None and looks.fullmatch(text):
        return literal.format(text)
    return f"CAST({quoted(text)} AS {spark_type(data_type)})"

"""Casts from strings. An unparsable string is an error that shows it, never null."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.casts.numbers import number_text_to_decimal
from paimon_sql.storage.expressions.casts.registry import FLOATS, INTEGERS, TEXTS, TIMESTAMPS, CastCall, rule
from paimon_sql.storage.expressions.casts.times import to_timestamp

_TRUE = pa.array(["t", "true", "y", "yes", "1"])
_FALSE = pa.array(["f", "false", "n", "no", "0"])
_INTEGER = r"^[+-]?(\d+(\.\d*)?|\.\d+)$"
_FLOAT = r"^\s*[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?)\s*$"
_DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DATE = r"^\s*(?P<year>\d{1,4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?(?:[ T].*)?$"
_TIME = r"^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$"
_TIMESTAMP = (
    r"^\s*(?P<date>\d{4}-\d{2}-\d{2})(?:[ T](?P<clock>\d{2}:\d{2}(?::\d{2})?)(?:\.(?P<digits>\d{1,9})\d*)?)?\s*$"
)
_NUMBER = r"^\d+$"


@rule(TEXTS, (t.BooleanType,))
def text_to_boolean(array: pa.Array, call: CastCall) -> pa.Array:
    """``true``, ``t``, ``yes``, ``y``, ``1`` and their opposites, case-insensitive."""
    lower = pc.utf8_lower(array)
    true, false = pc.is_in(lower, _TRUE), pc.is_in(lower, _FALSE)
    _check(array, pc.or_(true, false), call)
    return pc.if_else(array.is_valid(), true, pa.scalar(None, pa.bool_()))


@rule(TEXTS, INTEGERS)
def text_to_integer(array: pa.Array, call: CastCall) -> pa.Array:
    """Digits with a sign; a fraction is truncated; a number out of range is an error."""
    _check(array, pc.match_substring_regex(array, _INTEGER), call)
    digits = pc.replace_substring_regex(pc.utf8_ltrim(array, "+"), r"\..*$", "")
    digits = pc.replace_substring_regex(digits, r"^-?$", "0")
    return digits.cast(pa.int64()).cast(call.arrow)


@rule(TEXTS, FLOATS)
def text_to_float(array: pa.Array, call: CastCall) -> pa.Array:
    """Digits with point and exponent, ``NaN``, ``Infinity``, and a type suffix like Java's."""
    _check(array, pc.match_substring_regex(array, _FLOAT), call)
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(array), r"([0-9.])[dDfF]$", r"\1")
    return bare.cast(call.arrow)


@rule(TEXTS, (t.DecimalType,))
def text_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """Digits with point and exponent, rounded half up; a number with too many digits becomes null."""
    _check(array, pc.match_substring_regex(array, _DECIMAL), call)
    return number_text_to_decimal(array, array.cast(pa.float64()), call)


@rule(TEXTS, (t.DateType,))
def text_to_date(array: pa.Array, call: CastCall) -> pa.Array:
    """``yyyy-MM-dd``, also without day or leading zeros, or a number of days since 1970."""
    number = pc.match_substring_regex(array, _NUMBER)
    parts = pc.extract_regex(array, _DATE)
    _check(array, pc.or_(number, parts.is_valid()), call)
    day = pc.if_else(pc.equal(pc.struct_field(parts, "day"), ""), "1", pc.struct_field(parts, "day"))
    written = pc.binary_join_element_wise(
        pc.utf8_lpad(pc.struct_field(parts, "year"), 4, "0"),
        pc.utf8_lpad(pc.struct_field(parts, "month"), 2, "0"),
        pc.utf8_lpad(day, 2, "0"),
        "-",
    )
    dates = pc.if_else(parts.is_valid(), written, pa.scalar(None, pa.string())).cast(pa.date32())
    return pc.coalesce(dates, _numbers(array, number, pa.int32()).view(pa.date32()))


@rule(TEXTS, (t.TimeType,))
def text_to_time(array: pa.Array, call: CastCall) -> pa.Array:
    """``HH:mm:ss.SSS``, also shorter, or a number of milliseconds since midnight."""
    number = pc.match_substring_regex(array, _NUMBER)
    clock = pc.match_substring_regex(array, _TIME)
    _check(array, pc.or_(number, clock), call)
    text = pc.if_else(clock, array, pa.scalar(None, pa.string()))
    text = pc.replace_substring_regex(text, r"(\.\d{3})\d+$", r"\1")
    text = pc.replace_substring_regex(text, r"^(\d):", r"0\1:")
    clocked = pc.binary_join_element_wise("1970-01-01", text, " ").cast(pa.timestamp("ms"))
    times = clocked.cast(pa.time32("ms"))
    return pc.coalesce(times, _numbers(array, number, pa.int32()).view(pa.time32("ms")))


@rule(TEXTS, TIMESTAMPS)
def text_to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """``yyyy-MM-dd HH:mm:ss.SSS...``, also with T or without time; a number counts units of the type's precision."""
    number = pc.match_substring_regex(array, _NUMBER)
    parts = pc.extract_regex(array, _TIMESTAMP)
    _check(array, pc.or_(number, parts.is_valid()), call)
    unit = call.arrow.unit
    clock = pc.if_else(pc.equal(pc.struct_field(parts, "clock"), ""), "00:00:00", pc.struct_field(parts, "clock"))
    short = pc.equal(pc.utf8_length(clock), 5)
    clock = pc.if_else(short, pc.binary_join_element_wise(clock, ":00", ""), clock)
    digits = pc.utf8_rpad(
        pc.utf8_slice_codeunits(pc.struct_field(parts, "digits"), 0, 9 if unit == "ns" else 6), 1, "0"
    )
    written = pc.binary_join_element_wise(
        pc.binary_join_element_wise(pc.struct_field(parts, "date"), clock, " "), digits, "."
    )
    text = pc.if_else(parts.is_valid(), written, pa.scalar(None, pa.string()))
    parsed = to_timestamp(text.cast(pa.timestamp(unit)), call)
    return pc.coalesce(parsed, _from_counts(array, number, call))


def _from_counts(array: pa.Array, number: pa.Array, call: CastCall) -> pa.Array:
    """Numeric strings as counts since 1970, of seconds, milli-, micro- or nanoseconds by the type's precision."""
    precision = getattr(call.target, "precision", 6)
    unit = next(u for digits, u in ((0, "s"), (3, "ms"), (6, "us"), (9, "ns")) if precision <= digits)
    counts = _numbers(array, number, pa.int64())
    return to_timestamp(counts.view(pa.timestamp(unit, call.arrow.tz)), call)


def _numbers(array: pa.Array, chosen: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.if_else(chosen, array, pa.scalar(None, pa.string())).cast(target)


def _check(array: pa.Array, good: pa.Array, call: CastCall) -> None:
    """Raise `InvalidInputError` with the first string that is neither null nor good."""
    bad = pc.and_(array.is_valid(), pc.invert(pc.fill_null(good, False)))
    if pc.any(bad).as_py():
        first = array.filter(bad)[0].as_py()
        raise InvalidInputError(
            f"The text '{first}' cannot be read as {call.target.sql()}.",
            remedy="Change the column back to a text type, or correct the rows that hold such text.",
        )

"""Casts from strings. An unparsable string is an error that shows it, never null."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.casts.numbers import number_text_to_decimal
from paimon_sql.storage.expressions.casts.registry import FLOATS, INTEGERS, TEXTS, TIMESTAMPS, CastCall, rule
from paimon_sql.storage.expressions.casts.times import to_timestamp
from paimon_sql.storage.expressions.kernels.conform import only, with_validity_of

_TRUE = ("t", "true", "y", "yes", "1")
_FALSE = ("f", "false", "n", "no", "0")
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
    true, false = (pc.is_in(lower, pa.array(words)) for words in (_TRUE, _FALSE))
    _check(array, pc.or_(true, false), call)
    return with_validity_of(array, true)


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
    year, month, day = parts.flatten()
    day = pc.if_else(pc.equal(day, ""), "1", day)
    padded = (pc.utf8_lpad(part, width, "0") for part, width in ((year, 4), (month, 2), (day, 2)))
    dates = only(parts.is_valid(), pc.binary_join_element_wise(*padded, "-")).cast(pa.date32())
    return pc.coalesce(dates, only(number, array).cast(pa.int32()).view(pa.date32()))


@rule(TEXTS, (t.TimeType,))
def text_to_time(array: pa.Array, call: CastCall) -> pa.Array:
    """``HH:mm:ss.SSS``, also shorter, or a number of milliseconds since midnight."""
    number = pc.match_substring_regex(array, _NUMBER)
    clock = pc.match_substring_regex(array, _TIME)
    _check(array, pc.or_(number, clock), call)
    text = pc.replace_substring_regex(only(clock, array), r"(\.\d{3})\d+$", r"\1")
    text = pc.replace_substring_regex(text, r"^(\d):", r"0\1:")
    clocked = pc.binary_join_element_wise("1970-01-01", text, " ").cast(pa.timestamp("ms"))
    return pc.coalesce(clocked.cast(pa.time32("ms")), only(number, array).cast(pa.int32()).view(pa.time32("ms")))


@rule(TEXTS, TIMESTAMPS)
def text_to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """``yyyy-MM-dd HH:mm:ss.SSS...``, also with T or without time; a number counts units of the type's precision."""
    number = pc.match_substring_regex(array, _NUMBER)
    parts = pc.extract_regex(array, _TIMESTAMP)
    _check(array, pc.or_(number, parts.is_valid()), call)
    unit = call.arrow.unit
    date, clock, digits = parts.flatten()
    rest = pc.if_else(pc.equal(clock, ""), "00:00:00", pc.if_else(pc.equal(pc.utf8_length(clock), 5), ":00", ""))
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(digits, 0, 9 if unit == "ns" else 6), 1, "0")
    written = pc.binary_join_element_wise(date, " ", clock, rest, ".", digits, "")
    parsed = to_timestamp(only(parts.is_valid(), written).cast(pa.timestamp(unit)), call)
    return pc.coalesce(parsed, _from_counts(array, number, call))


def _from_counts(array: pa.Array, number: pa.Array, call: CastCall) -> pa.Array:
    """Numeric strings as counts since 1970, of seconds, milli-, micro- or nanoseconds by the type's precision."""
    precision = getattr(call.target, "precision", 6)
    unit = next(u for digits, u in ((0, "s"), (3, "ms"), (6, "us"), (9, "ns")) if precision <= digits)
    counts = only(number, array).cast(pa.int64())
    return to_timestamp(counts.view(pa.timestamp(unit, call.arrow.tz)), call)


def _check(array: pa.Array, good: pa.Array, call: CastCall) -> None:
    """Raise `InvalidInputError` with the first string that is neither null nor good."""
    bad = pc.and_(array.is_valid(), pc.invert(pc.fill_null(good, False)))
    if pc.any(bad).as_py():
        first = array.filter(bad)[0].as_py()
        raise InvalidInputError(
            f"The string '{first}' cannot be read as {call.target.sql()}.",
            remedy="Change the column back to a string type, or correct the rows with such values.",
        )

"""Casts of whole columns against plain-Python models of Java's rules."""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.casts import can_cast, cast

EXACT = Context(prec=400)
STRING = t.string_type()
QUICK = settings(max_examples=60)


def run(values: list[Any], source: t.DataType, target: t.DataType, zone: str = "UTC") -> list[Any]:
    made = cast(pa.array(values, arrow_type(source)), source, target, time_zone=zone)
    assert made.type.equals(arrow_type(target))
    made.validate(full=True)
    return list(made.to_pylist())


def half_up(value: Decimal, precision: int, scale: int) -> Decimal | None:
    rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    return rounded if abs(rounded) < Decimal(10) ** (precision - scale) else None


def wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


longs = st.integers(-(2**63), 2**63 - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def decimals(draw: st.DrawFn) -> tuple[list[Decimal | None], t.DecimalType]:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    unscaled = st.integers(-(10**precision) + 1, 10**precision - 1)
    values = draw(st.lists(st.none() | unscaled.map(lambda n: Decimal(n).scaleb(-scale, EXACT)), max_size=5))
    return values, t.DecimalType(True, precision, scale)


@st.composite
def decimal_types(draw: st.DrawFn) -> t.DecimalType:
    precision = draw(st.integers(1, 38))
    return t.DecimalType(True, precision, draw(st.integers(0, precision)))


@QUICK
@given(st.lists(st.none() | longs, max_size=5))
def test_a_narrowed_integer_wraps_around(values: list[int | None]) -> None:
    for target, bits in ((t.TinyIntType(), 8), (t.SmallIntType(), 16), (t.IntType(), 32)):
        expected = [None if v is None else wrapped(v, bits) for v in values]
        assert run(values, t.BigIntType(), target) == expected


@QUICK
@given(st.lists(st.none() | st.floats(), max_size=5))
def test_a_double_becomes_an_integer_by_cutting_and_stopping_at_the_limits(values: list[float | None]) -> None:
    def stopped(value: float, bits: int) -> int:
        if math.isnan(value):
            return 0
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        return low if value < low else high if value > high else int(value)

    assert run(values, t.DoubleType(), t.BigIntType()) == [None if v is None else stopped(v, 64) for v in values]
    assert run(values, t.DoubleType(), t.IntType()) == [None if v is None else stopped(v, 32) for v in values]
    assert run(values, t.DoubleType(), t.TinyIntType()) == [
        None if v is None else wrapped(stopped(v, 32), 8) for v in values
    ]


@QUICK
@given(decimals(), decimal_types())
def test_a_decimal_is_rounded_half_up_and_null_if_too_big(
    column: tuple[list[Decimal | None], t.DecimalType], target: t.DecimalType
) -> None:
    values, source = column
    expected = [None if v is None else half_up(v, target.precision, target.scale) for v in values]
    assert run(values, source, target) == expected


@QUICK
@given(st.lists(st.none() | longs, max_size=5), decimal_types())
def test_an_integer_becomes_a_decimal_or_null(values: list[int | None], target: t.DecimalType) -> None:
    expected = [None if v is None else half_up(Decimal(v), target.precision, target.scale) for v in values]
    assert run(values, t.BigIntType(), target) == expected


@QUICK
@given(st.lists(st.none() | doubles, max_size=5), decimal_types())
def test_a_double_becomes_a_decimal_by_its_shortest_digits(values: list[float | None], target: t.DecimalType) -> None:
    expected = [None if v is None else half_up(Decimal(repr(v)), target.precision, target.scale) for v in values]
    assert run(values, t.DoubleType(), target) == expected


@QUICK
@given(decimals())
def test_a_decimal_becomes_a_number_and_text(column: tuple[list[Decimal | None], t.DecimalType]) -> None:
    values, source = column
    assert run(values, source, t.BigIntType()) == [None if v is None else wrapped(int(v), 64) for v in values]
    assert run(values, source, STRING) == [None if v is None else format(v, "f") for v in values]
    doubled = run(values, source, t.DoubleType())
    for value, made in zip(values, doubled, strict=True):
        assert (value is None) == (made is None)
        if value is not None:
            assert math.isclose(made, float(value), rel_tol=1e-15)


@QUICK
@given(
    st.lists(st.none() | decimal_types().flatmap(lambda d: st.decimals(-(10**36), 10**36, places=d.scale)), max_size=5)
)
def test_text_of_a_number_becomes_a_decimal(values: list[Decimal | None]) -> None:
    texts = [None if v is None else str(v) for v in values]
    expected = [None if v is None else half_up(v, 38, 10) for v in values]
    assert run(texts, STRING, t.DecimalType(True, 38, 10)) == expected


@QUICK
@given(st.lists(st.none() | st.floats(), max_size=6))
def test_a_double_is_written_as_java_writes_it(values: list[float | None]) -> None:
    assert run(values, t.DoubleType(), STRING) == [None if v is None else java_text(v) for v in values]


def java_text(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1, value) < 0 else ""
    digits = Decimal(repr(abs(value)))
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = format(digits, "f")
        return sign + (plain if "." in plain else plain + ".0")
    parts = digits.normalize(EXACT).as_tuple()
    text = "".join(map(str, parts.digits))
    return f"{sign}{text[0]}.{text[1:] or '0'}E{int(parts.exponent) + len(text) - 1}"


def test_a_float_is_written_by_its_own_digits() -> None:
    assert run([0.1, 1e10, 16777216.0, -2.5], t.FloatType(), STRING) == ["0.1", "1.0E10", "1.6777216E7", "-2.5"]


@QUICK
@given(st.lists(st.none() | st.floats(), max_size=5))
def test_text_of_a_double_reads_back(values: list[float | None]) -> None:
    back = run(run(values, t.DoubleType(), STRING), STRING, t.DoubleType())
    assert [repr(v) for v in back] == [repr(v) for v in values]


def test_text_becomes_a_number_without_its_fraction() -> None:
    assert run(["12", "+3", "-4.9", ".5", "7.", None], STRING, t.IntType()) == [12, 3, -4, 0, 7, None]
    assert run(["1e3", " 2.5 ", "NaN", "3f", "-Infinity"], STRING, t.DoubleType())[:2] == [1000.0, 2.5]


@pytest.mark.parametrize("text", ["", "x", "1 2", "+", "99999999999", "1e3", "."])
def test_text_that_is_no_integer_is_an_error(text: str) -> None:
    with pytest.raises(InvalidInputError):
        run([text], STRING, t.IntType())


def test_an_error_shows_the_text_and_the_type() -> None:
    with pytest.raises(InvalidInputError, match="'no number' cannot be read as DOUBLE"):
        run(["1", None, "no number"], STRING, t.DoubleType())


def test_text_becomes_a_boolean_in_many_spellings() -> None:
    assert run(["t", "FALSE", "Yes", "0", None], STRING, t.BooleanType()) == [True, False, True, False, None]
    with pytest.raises(InvalidInputError, match="'maybe'"):
        run(["maybe"], STRING, t.BooleanType())


def test_booleans_and_numbers_become_each_other() -> None:
    assert run([True, None, False], t.BooleanType(), t.IntType()) == [1, None, 0]
    assert run([True], t.BooleanType(), t.DecimalType(True, 3, 1)) == [Decimal("1.0")]
    assert run([2, 0, None], t.BigIntType(), t.BooleanType()) == [True, False, None]
    assert run([True], t.BooleanType(), STRING) == ["true"]


def test_text_is_cut_to_its_length_and_padded_for_char() -> None:
    assert run(["äöü🙂", "a", None], STRING, t.VarCharType(True, 3)) == ["äöü", "a", None]
    assert run(["äöü🙂", "a", None], STRING, t.CharType(True, 3)) == ["äöü", "a  ", None]
    assert run([12345], t.IntType(), t.VarCharType(True, 2)) == ["12"]


def test_bytes_are_cut_and_filled_up() -> None:
    assert run([b"abc", b"", None], t.bytes_type(), t.VarBinaryType(True, 2)) == [b"ab", b"", None]
    assert run([b"abcd", b"a", None], t.bytes_type(), t.BinaryType(True, 3)) == [b"abc", b"a\0\0", None]
    assert run(["é"], STRING, t.bytes_type()) == ["é".encode()]
    assert run(["é".encode()], t.bytes_type(), STRING) == ["é"]


OLD, NEW = dt.date(1, 1, 1), dt.date(9999, 12, 31)


def test_dates_and_timestamps_become_each_other() -> None:
    at = dt.datetime(1500, 2, 28, 23, 59, 59, 999999)
    assert run([OLD, NEW, None], t.DateType(), t.TimestampType()) == [
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31),
        None,
    ]
    assert run([at, None], t.TimestampType(), t.DateType()) == [dt.date(1500, 2, 28), None]
    assert run([OLD, NEW], t.DateType(), STRING) == ["0001-01-01", "9999-12-31"]


def test_a_coarser_timestamp_is_cut_towards_the_past() -> None:
    values = [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 1, 1, 0, 0, 0, 123456)]
    made = run(values, t.TimestampType(True, 6), t.TimestampType(True, 2))
    assert made == [dt.datetime(1969, 12, 31, 23, 59, 59, 990000), dt.datetime(2024, 1, 1, 0, 0, 0, 120000)]


def test_a_timestamp_is_written_with_the_digits_of_its_precision() -> None:
    values = [dt.datetime(2024, 1, 1, 10), dt.datetime(1, 1, 1, 0, 0, 0, 120000), None]
    assert run(values, t.TimestampType(True, 0), STRING) == ["2024-01-01 10:00:00", "0001-01-01 00:00:00.12", None]
    assert run(values[:1], t.TimestampType(True, 3), STRING) == ["2024-01-01 10:00:00.000"]
    assert run(values[:1], t.TimestampType(True, 9), STRING) == ["2024-01-01 10:00:00.000000000"]


def test_a_local_time_zone_shows_the_sessions_clock() -> None:
    noon = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)
    zoned, plain = t.LocalZonedTimestampType(), t.TimestampType()
    assert run([noon], zoned, STRING, "Europe/Berlin") == ["2024-07-01 14:00:00.000000"]
    assert run([noon], zoned, plain, "Europe/Berlin") == [dt.datetime(2024, 7, 1, 14)]
    assert run([dt.datetime(2024, 7, 1, 14)], plain, zoned, "Europe/Berlin")[0] == noon
    assert run([noon], zoned, t.DateType(), "Asia/Tokyo") == [dt.date(2024, 7, 1)]
    assert run([dt.date(2024, 7, 1)], t.DateType(), zoned, "Asia/Tokyo")[0] == noon - dt.timedelta(hours=21)
    with pytest.raises(InvalidInputError, match="Mars"):
        run([noon], zoned, STRING, "Mars/Base")


def test_numbers_of_seconds_and_timestamps_become_each_other() -> None:
    assert run([0, -1, None], t.BigIntType(), t.TimestampType()) == [
        dt.datetime(1970, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59),
        None,
    ]
    assert run([dt.datetime(1970, 1, 1, 0, 1)], t.TimestampType(), t.IntType()) == [60]


def test_times_of_day_become_text_and_timestamps() -> None:
    at = dt.time(12, 34, 56, 789000)
    assert run([at, dt.time(0), None], t.TimeType(True, 3), STRING) == ["12:34:56.789", "00:00:00.0", None]
    assert run([at], t.TimeType(True, 0), STRING) == ["12:34:56"]
    assert run([at], t.TimeType(True, 3), t.TimestampType()) == [dt.datetime(1970, 1, 1, 12, 34, 56, 789000)]
    assert run([dt.datetime(1960, 1, 1, 1)], t.TimestampType(), t.TimeType(True, 3)) == [dt.time(1)]
    assert run(["12:34:56.789", "1:02", "3600000", None], STRING, t.TimeType(True, 3)) == [
        at,
        dt.time(1, 2),
        dt.time(1),
        None,
    ]


def test_text_becomes_dates_and_timestamps() -> None:
    assert run(["2024-1-2", "0001-01-01", "2024-05-06 07:08:09", "2024-03", "1", None], STRING, t.DateType()) == [
        dt.date(2024, 1, 2),
        OLD,
        dt.date(2024, 5, 6),
        dt.date(2024, 3, 1),
        dt.date(1970, 1, 2),
        None,
    ]
    assert run(
        ["2024-05-06 07:08:09.1234567", "2024-05-06T07:08", "2024-05-06", "1000000", None], STRING, t.TimestampType()
    ) == [
        dt.datetime(2024, 5, 6, 7, 8, 9, 123456),
        dt.datetime(2024, 5, 6, 7, 8),
        dt.datetime(2024, 5, 6),
        dt.datetime(1970, 1, 1, 0, 0, 1),
        None,
    ]
    for bad in ("yesterday", "2024-13-01", "2024-02-30"):
        with pytest.raises(InvalidInputError):
            run([bad], STRING, t.DateType())


def test_nested_values_become_text() -> None:
    array = t.ArrayType(True, t.IntType())
    assert run([[1, None], [], None], array, STRING) == ["[1, null]", "[]", None]
    assert run([[("a", 1), ("b", None)], None], t.MapType(True, t.string_type(False), t.IntType()), STRING) == [
        "{a -> 1, b -> null}",
        None,
    ]
    row = t.RowType(True, (t.DataField(0, "x", t.IntType()), t.DataField(1, "y", array)))
    assert run([{"x": 1, "y": [2]}, {"x": None, "y": None}, None], row, STRING) == ["{1, [2]}", "{null, null}", None]


def test_only_known_casts_are_offered() -> None:
    assert can_cast(t.IntType(False), t.IntType())
    assert can_cast(t.IntType(), STRING)
    assert not can_cast(t.DateType(), t.IntType())
    assert not can_cast(t.ArrayType(True, t.VariantType()), STRING)
    with pytest.raises(UnsupportedError, match="DATE cannot be cast to INT"):
        run([OLD], t.DateType(), t.IntType())


def test_an_empty_column_casts_to_an_empty_column() -> None:
    plain = [t.BooleanType(), t.IntType(), t.DoubleType(), t.DecimalType(), STRING, t.DateType(), t.TimestampType()]
    for source in plain:
        for target in plain:
            if can_cast(source, target):
                assert run([], source, target) == []
                assert run([None], source, target) == [None]

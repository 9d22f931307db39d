"""Values as text, as Java prints and casts them, and read back."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import parse_atomic
from paimon_sql.format.text.values import cast_text, java_text, parse_text

_WIDE = Context(prec=40)
_BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("sql", "value", "cast", "java"),
    [
        ("BOOLEAN", True, "true", "true"),
        ("TINYINT", -5, "-5", "-5"),
        ("STRING", " a ", " a ", " a "),
        ("DECIMAL(10, 2)", Decimal("-2.25"), "-2.25", "-2.25"),
        ("DECIMAL(10, 2)", Decimal("0"), "0.00", "0.00"),
        ("DECIMAL(38, 0)", Decimal(10**37), "1" + "0" * 37, "1" + "0" * 37),
        ("DATE", dt.date(2024, 1, 31), "2024-01-31", "19753"),
        ("DATE", dt.date(1582, 10, 4), "1582-10-04", "-141438"),
        ("DATE", 2932897, "10000-01-01", "2932897"),
        ("DATE", -719528, "0000-01-01", "-719528"),
        ("DATE", -719529, "-0001-12-31", "-719529"),
        ("TIME(0)", 3_723_004, "01:02:03", "3723004"),
        ("TIME(3)", 3_723_040, "01:02:03.04", "3723040"),
        ("TIME(3)", 3_723_000, "01:02:03.0", "3723000"),
        ("TIME(2)", 3_723_105, "01:02:03.10", "3723105"),
        ("TIMESTAMP(0)", dt.datetime(2024, 1, 1), "2024-01-01 00:00:00", "2024-01-01T00:00"),
        ("TIMESTAMP(3)", dt.datetime(2024, 1, 1, 10, 0, 5), "2024-01-01 10:00:05.000", "2024-01-01T10:00:05"),
        (
            "TIMESTAMP(6)",
            dt.datetime(1969, 12, 31, 23, 59, 59, 1),
            "1969-12-31 23:59:59.000001",
            "1969-12-31T23:59:59.000001",
        ),
        (
            "TIMESTAMP(6)",
            dt.datetime(2024, 1, 1, 0, 0, 0, 500000),
            "2024-01-01 00:00:00.500000",
            "2024-01-01T00:00:00.500",
        ),
        ("TIMESTAMP(9)", 1_000_000_001, "1970-01-01 00:00:01.000000001", "1970-01-01T00:00:01.000000001"),
        ("FLOAT", 0.10000000149011612, "0.1", "0.1"),
        ("FLOAT", 1e10, "1.0E10", "1.0E10"),
        ("DOUBLE", 1.0, "1.0", "1.0"),
        ("DOUBLE", -0.0, "-0.0", "-0.0"),
        ("DOUBLE", 1234567.0, "1234567.0", "1234567.0"),
        ("DOUBLE", 12345678.0, "1.2345678E7", "1.2345678E7"),
        ("DOUBLE", 0.00099, "9.9E-4", "9.9E-4"),
        ("DOUBLE", 0.001, "0.001", "0.001"),
        ("DOUBLE", 1.7976931348623157e308, "1.7976931348623157E308", "1.7976931348623157E308"),
        ("DOUBLE", float("-inf"), "-Infinity", "-Infinity"),
        ("DOUBLE", float("nan"), "NaN", "NaN"),
        ("BYTES", "ü".encode(), "ü", "0xc3bc"),
    ],
)
def test_a_value_is_written_as_java_writes_it(sql: str, value: Any, cast: str, java: str) -> None:
    data_type = parse_atomic(sql)
    assert (cast_text(value, data_type), java_text(value, data_type)) == (cast, java)


def test_a_point_in_time_is_cast_in_the_sessions_zone() -> None:
    data_type = t.LocalZonedTimestampType(True, 0)
    summer = dt.datetime(2024, 7, 1, 22, 0)
    assert cast_text(summer, data_type, _BERLIN) == "2024-07-02 00:00:00"
    assert java_text(summer, data_type) == "2024-07-01T22:00"
    assert parse_text("2024-07-02 00:00:00", data_type, _BERLIN) == summer
    assert cast_text(2**62, t.LocalZonedTimestampType(True, 6), _BERLIN).startswith("1481")


_STRATEGIES: list[tuple[t.DataType, st.SearchStrategy[Any]]] = [
    (t.BooleanType(), st.booleans()),
    (t.BigIntType(), st.integers(-(2**63), 2**63 - 1)),
    (t.DateType(), st.dates() | st.integers(2932897, 2**31 - 1)),
    (t.TimestampType(True, 6), st.datetimes()),
    (t.TimestampType(True, 9), st.integers(-(10**20), 10**20)),
    (
        t.LocalZonedTimestampType(True, 3),
        st.datetimes().map(lambda d: d.replace(microsecond=d.microsecond // 1000 * 1000)),
    ),
    (t.DoubleType(), st.floats(allow_nan=False)),
    (t.FloatType(), st.floats(allow_nan=False, width=32)),
    (t.DecimalType(True, 38, 5), st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(n).scaleb(-5, _WIDE))),
    (t.string_type(), st.text()),
    (t.TimeType(True, 3), st.integers(0, 86_399_999)),
]


@given(st.data())
def test_a_text_reads_back_to_its_value(data: st.DataObject) -> None:
    data_type, strategy = data.draw(st.sampled_from(_STRATEGIES))
    value = data.draw(strategy)
    assert parse_text(cast_text(value, data_type), data_type) == value
    assert parse_text(java_text(value, data_type), data_type) == value


@pytest.mark.parametrize(
    ("text", "sql", "value"),
    [
        ("T", "BOOLEAN", True),
        ("0", "BOOLEAN", False),
        ("+7", "INT", 7),
        ("1.005", "DECIMAL(5, 2)", Decimal("1.01")),
        ("-1", "DATE", dt.date(1969, 12, 31)),
        ("2024-1-2", "DATE", dt.date(2024, 1, 2)),
        ("2024-01-02 10:00:00", "DATE", dt.date(2024, 1, 2)),
        ("1704067200123", "TIMESTAMP(3)", dt.datetime(2024, 1, 1, 0, 0, 0, 123000)),
        ("2024-01-01", "TIMESTAMP(3)", dt.datetime(2024, 1, 1)),
        ("2024-01-01T10:00:00.123456", "TIMESTAMP(3)", dt.datetime(2024, 1, 1, 10, 0, 0, 123000)),
        ("-0001-12-31", "DATE", -719529),
        ("ü", "BYTES", "ü".encode()),
    ],
)
def test_other_spellings_are_read_too(text: str, sql: str, value: Any) -> None:
    assert parse_text(text, parse_atomic(sql)) == value


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("maybe", "BOOLEAN"),
        ("128", "TINYINT"),
        ("1_000", "INT"),
        ("1.5", "INT"),
        ("", "INT"),
        ("1_0", "DOUBLE"),
        ("1000", "DECIMAL(5, 2)"),
        ("abc", "VARCHAR(2)"),
        ("2024-02-30", "DATE"),
        ("yesterday", "DATE"),
        ("24:00:00", "TIME(0)"),
        ("2024-01-01 25:00:00", "TIMESTAMP(3)"),
        ("", "TIMESTAMP(3)"),
        ("x", "VARIANT"),
    ],
)
def test_a_text_that_is_no_value_is_refused(text: str, sql: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_text(text, parse_atomic(sql))

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.format.text.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1 h", timedelta(hours=1)),
        ("36h", timedelta(hours=36)),
        ("2 min", timedelta(minutes=2)),
        ("2m", timedelta(minutes=2)),
        ("1 DAY", timedelta(days=1)),
        (" 10 days ", timedelta(days=10)),
        ("500", timedelta(milliseconds=500)),
        ("0 ms", timedelta(0)),
        ("7 µs", timedelta(microseconds=7)),
        ("1999 ns", timedelta(microseconds=1)),
        ("3 seconds", timedelta(seconds=3)),
        ("PT1H", timedelta(hours=1)),
        ("P2DT3H4M5.5S", timedelta(days=2, hours=3, minutes=4, seconds=5.5)),
        ("pt-6h", timedelta(hours=-6)),
        ("PT-1.5S", timedelta(seconds=-1.5)),
        ("-PT1H", timedelta(hours=-1)),
        ("9223372036854775807 d", timedelta.max),
    ],
)
def test_a_length_of_time_is_read(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text", ["", "h", "1 fortnight", "-1 h", "1.5 h", "P", "PT", "P1", "PT1D", "1 h 5 min", "tomorrow"]
)
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(hours=36), "36 h"),
        (timedelta(days=2), "2 d"),
        (timedelta(minutes=90), "90 min"),
        (timedelta(0), "0 ms"),
        (timedelta(microseconds=1500), "1500 µs"),
    ],
)
def test_a_length_is_written_in_its_greatest_whole_unit(length: timedelta, text: str) -> None:
    assert format_duration(length) == text


@given(st.timedeltas(min_value=timedelta(0)))
def test_what_is_written_is_read_again(length: timedelta) -> None:
    assert parse_duration(format_duration(length)) == length

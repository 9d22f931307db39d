"""Patterns of times, against what Java's DateTimeFormatter made of the same texts."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.text.time_fields import NANOS_A_DAY
from paimon_sql.format.text.time_patterns import TimePattern, parse_plain_time

# Recorded from Java 17, the root locale: the first second is that of a LocalDateTime, or of a LocalDate at midnight.
JAVA = [
    ("yyyyMMdd", "20991123", 4099075200),
    ("yyyyMMdd", "9999x0920", None),
    ("yyyy-MM-dd", "19994-06-02", None),
    ("yyyy-MM-dd", "2021-02-30", 1614470400),
    ("yyyy-M-d", "0001-3-9", -62129808000),
    ("yyyy-M-d", "2000-8-111", None),
    ("yyMMdd", "230822", 1692662400),
    ("yyMMdd", "9924922", None),
    ("yyyyMMddHHmmss", "76970826135529", 180747294929),
    ("yyyyMMddHHmmssSSS", "20000602004152123", 959906512.123),
    ("yyyyMMddHHmmssSSS", "200000019113832000", None),
    ("yyyyMd", "100969104", None),
    ("MMM d, yyyy", "Apr 1, 4429", 77606380800),
    ("d MMMM yyyy", "28 May 8708", 212643446400),
    ("d MMMM yyyy", "3 April 2000", None),
    ("EEE yyyy-MM-dd", "Fri 1969-11-28", -2937600),
    ("EEE yyyy-MM-dd", "Thu 1969-11-28", None),
    ("yyyyDDD", "2023134", 1684022400),
    ("yyyy-D", "2099-348", 4100889600),
    ("yyyy-MM-dd'T'HH", "1969-01-21T01", -29804400),
    ("yyyy-MM-dd['T'HH[:mm[:ss]]]", "1999-04-28T11:11:47", 925297907),
    ("yyyy-MM-dd['T'HH[:mm[:ss]]]", "1999-04-28", 925257600),
    ("yyyyMMdd[HH]", "2024030213", None),
    ("hh:mm a yyyy-MM-dd", "12:20 PM 2099-09-12", 4092898800),
    ("K a yyyyMMdd", "0 AM 09991123", -30613593600),
    ("kk yyyyMMdd", "13 00010724", -62117924400),
    ("yyyy-MM-dd h a", "2021-01-01 13 PM", None),
    ("yyyyMMdd a", "19991226 PM", 946231200),
    ("yyyyy-MM-dd", "00999-05-25", -30629318400),
    ("yyyy''MMdd", "2099'0421", 4080412800),
    ("yyyyMMdd mm", "20000402 28", 954633600),
    ("MMddy", "07212024", 1721520000),
    ("dMyyyy", "0634846", None),
    ("SSSyyyyMMdd", "00009990618", -30627244800),
    ("yyyyMMdd n", "20240614 0", 1718323200),
    ("yyyy-MM", "2099-08", None),
    ("HH:mm", "23:18", None),
    ("yyyy-MM-dd HH:mm:ss", "2021-01-01 24:00:00", 1609545600),
    ("yyyy-MM-dd HH:mm:ss", "2021-01-01 24:00:01", None),
    ("uuuu-MM-dd", "-2021-01-01", -125943811200),
    ("yyyy-MM-dd", "-2021-01-01", None),
    ("yyyy-MM-dd", "+12021-01-01", 317178979200),
]


@pytest.mark.parametrize(("pattern", "text", "seconds"), JAVA)
def test_a_text_is_read_as_java_reads_it(pattern: str, text: str, seconds: float | None) -> None:
    time = TimePattern(pattern).parse(text)
    assert time == (None if seconds is None else round(seconds * 1000) * 1_000_000)


@pytest.mark.parametrize(
    "pattern", ["yyyy-MM-dd'", "yyyy]", "yyyy{", "ddd", "SSSSSSSSSS", "aa", "y" * 20, "YYYY", "bb", "MMMMMM", "#"]
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInputError, match="no pattern of a time"):
        TimePattern(pattern)


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)), st.sampled_from(["yyyyMMddHHmmss", "y-M-d H:m:s"]))
def test_a_written_time_is_read_back(at: datetime, pattern: str) -> None:
    at = at.replace(microsecond=0)
    text = (
        f"{at:%Y%m%d%H%M%S}"
        if "-" not in pattern
        else f"{at.year}-{at.month}-{at.day} {at.hour}:{at.minute}:{at.second}"
    )
    assert TimePattern(pattern).parse(text) == (at - datetime(1970, 1, 1)) // timedelta(seconds=1) * 10**9


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_without_a_pattern_a_time_is_read_as_it_is_usually_written(at: datetime) -> None:
    micros = (at - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert parse_plain_time(f"{at.isoformat(' ', 'microseconds')}") == micros * 1000
    assert parse_plain_time(f"{at.year}-{at.month}-{at.day}") == micros * 1000 // NANOS_A_DAY * NANOS_A_DAY


@pytest.mark.parametrize(
    "text", ["", "2024", "2024-01", "20240101", "2024-01-01T00:00:00", "x", "2024-01-01 00:00", "2024-01-01 "]
)
def test_without_a_pattern_other_texts_tell_no_time(text: str) -> None:
    assert parse_plain_time(text) is None


def test_without_a_pattern_too_great_numbers_run_over() -> None:
    assert parse_plain_time("2023-13-01") == parse_plain_time("2024-01-01")
    assert parse_plain_time("2024-02-30") == parse_plain_time("2024-03-01")
    assert parse_plain_time("2024-01-01 25:00:00") == parse_plain_time("2024-01-02 01:00:00")

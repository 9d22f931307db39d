"""Spans of time and the names of their tags, against a model that counts them one by one."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import TableOptions
from paimon_sql.storage.maintenance.tags.automatic_creation import TagPeriod

EPOCH = datetime(1970, 1, 1)
DASHES, PLAIN, CLOSE = "with_dashes", "without_dashes", "without_dashes_and_spaces"
AT = datetime(2024, 3, 5, 17, 42, 11)


def period(kind: str = "daily", formatter: str = DASHES, **more: str) -> TagPeriod:
    options = {"tag.creation-period": kind, "tag.period-formatter": formatter}
    return TagPeriod.of(TableOptions({**options, **{k.replace("_", "-"): v for k, v in more.items()}}))


def of_length(length: str) -> TagPeriod:
    return TagPeriod.of(TableOptions({"tag.creation-period-duration": length}))


def millis(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("kind", "formatter", "name"),
    [
        ("daily", DASHES, "2024-03-04"),
        ("daily", PLAIN, "20240304"),
        ("daily", CLOSE, "20240304"),
        ("hourly", DASHES, "2024-03-05 16"),
        ("hourly", PLAIN, "20240305 16"),
        ("hourly", CLOSE, "2024030516"),
        ("two-hours", DASHES, "2024-03-05 14"),
        ("two-hours", CLOSE, "2024-03-05 14"),
    ],
)
def test_a_tag_is_called_by_the_beginning_of_the_span_that_is_over(kind: str, formatter: str, name: str) -> None:
    span = period(kind, formatter)
    begin = span.before(millis(AT))
    assert span.name_of(begin) == name
    assert span.time_of(name) == begin


def test_spans_of_any_length_tell_the_minute() -> None:
    span = of_length("10 min")
    assert span.name_of(span.before(millis(AT))) == "202403051730"


@given(
    st.datetimes(datetime(1970, 2, 1), datetime(9999, 12, 30)),
    st.sampled_from(["daily", "hourly", "two-hours", "7 min", "1 d", "36 h"]),
    st.sampled_from([DASHES, PLAIN, CLOSE]),
)
def test_the_span_is_over_and_no_later_one_is(at: datetime, kind: str, formatter: str) -> None:
    span = of_length(kind) if " " in kind else period(kind, formatter)
    begin = span.before(millis(at))
    assert begin % span.length == 0
    assert begin + span.length <= millis(at) < begin + 2 * span.length
    name = span.name_of(begin)
    assert name is not None
    assert span.time_of(name) == begin


@pytest.mark.parametrize(
    "name", ["", " ", "2024-02-30", "2024-3-5", "20240305", "v2024-03-05", "2024-03-05x", "release"]
)
def test_other_names_tell_no_span(name: str) -> None:
    assert period("daily", DASHES).time_of(name) is None


def test_names_of_hours_count_for_days_too() -> None:
    assert period("daily").time_of("2024-03-05 16") == millis(datetime(2024, 3, 5))


def test_times_that_no_calendar_shows_have_no_name() -> None:
    assert period().name_of(2**62) is None


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"tag.creation-delay": "1 d"}, "tag.creation-delay"),
        ({"tag.creation-period": "hourly", "tag.creation-delay": "90 min"}, "tag.creation-delay"),
        ({"tag.creation-period-duration": "0 ms"}, "tag.creation-period-duration"),
    ],
)
def test_a_span_must_be_longer_than_its_delay(options: dict[str, str], key: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        TagPeriod.of(TableOptions(options))
    assert caught.value.key == key

"""The options that say how much of each column's statistics is kept."""

from __future__ import annotations

import pytest

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.table.data_file import StatsMode, StoredStats
from paimon_sql.format.statistics.column_statistics import FULL, KEY_MODE, column_modes

_NONE = StatsMode(StoredStats.NOTHING)
_COUNTS = StatsMode(StoredStats.COUNTS)
_CUT = StatsMode(StoredStats.BOUNDS, 16)


def test_modes_are_read_in_any_case() -> None:
    texts = ["none", "COUNTS", " Full ", "Truncate(3)"]
    assert [StatsMode.parse(text) for text in texts] == [_NONE, _COUNTS, FULL, StatsMode(StoredStats.BOUNDS, 3)]


@pytest.mark.parametrize("text", ["", "some", "truncate", "truncate(0)", "truncate(-1)", "truncate(x)"])
def test_a_mode_that_does_not_exist_is_refused_by_its_option(text: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        column_modes({"fields.a.stats-mode": text}, ["a"])
    assert caught.value.key == "fields.a.stats-mode"


def test_bounds_are_cut_to_sixteen_characters_by_default() -> None:
    assert column_modes({}, ["a", "b"]) == [_CUT, _CUT]


def test_a_columns_own_mode_goes_before_the_tables() -> None:
    options = {"metadata.stats-mode": "none", "fields.b.stats-mode": "full"}
    assert column_modes(options, ["a", "b"]) == [_NONE, FULL]


def test_only_the_first_columns_keep_statistics_when_asked_so() -> None:
    options = {"metadata.stats-keep-first-n-columns": "2", "fields.d.stats-mode": "counts"}
    assert column_modes(options, ["a", "b", "c", "d"]) == [_CUT, _CUT, _NONE, _COUNTS]
    assert column_modes({"metadata.stats-keep-first-n-columns": "0"}, ["a"]) == [_NONE]


def test_keys_and_system_columns_keep_bounds_and_are_not_counted_among_the_first() -> None:
    options = {"metadata.stats-keep-first-n-columns": "1"}
    names = ["_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "a", "b"]
    assert column_modes(options, names) == [KEY_MODE, KEY_MODE, KEY_MODE, _CUT, _NONE]


def test_a_thin_file_keeps_the_bounds_of_its_key_columns() -> None:
    assert column_modes({"metadata.stats-mode": "none"}, ["k", "v"], key_names=["k"]) == [KEY_MODE, _NONE]


def test_a_level_may_have_its_own_mode() -> None:
    options = {"metadata.stats-mode": "counts", "metadata.stats-mode.per.level": "0:none, 5:full"}
    assert [column_modes(options, ["a"], level=level)[0] for level in (0, 1, 5, None)] == [
        _NONE,
        _COUNTS,
        FULL,
        _COUNTS,
    ]
    assert column_modes({**options, "metadata.stats-mode": "some"}, ["a"], level=0) == [_NONE]


def test_a_changelog_file_may_have_its_own_mode() -> None:
    options = {"metadata.stats-mode.per.level": "0:none"}
    assert column_modes(options, ["a"], level=0, changelog=True) == [_NONE]
    options["changelog-file.stats-mode"] = "full"
    assert column_modes(options, ["a"], level=0, changelog=True) == [FULL]
    assert column_modes(options, ["a"], level=0) == [_NONE]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("metadata.stats-mode.per.level", "zero:none"),
        ("metadata.stats-mode.per.level", "0:nothing"),
        ("metadata.stats-keep-first-n-columns", "many"),
        ("metadata.stats-mode", "all"),
    ],
)
def test_a_bad_value_is_refused_by_its_option(key: str, text: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        column_modes({key: text}, ["a"], level=0)
    assert caught.value.key == key

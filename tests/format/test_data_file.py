from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.statistics.column_statistics import EMPTY_STATS, SimpleStats
from paimon_sql.format.text.instants import epoch_millis, wall_clock_millis

FILE = DataFileMeta(
    "data-a-0.orc", 1, 2, value_stats=SimpleStats(b"a", b"b", (0,)), external_path="s3://b/x/data-a-0.orc"
)
BERLIN = ZoneInfo("Europe/Berlin")


def test_the_creation_time_is_the_writers_wall_clock() -> None:
    noon = datetime(2024, 7, 1, 12, tzinfo=timezone.utc).timestamp()
    millis = wall_clock_millis(BERLIN, lambda: noon)
    assert millis == (noon + 2 * 3600) * 1000
    assert epoch_millis(millis, BERLIN) == noon * 1000
    assert epoch_millis(millis, timezone.utc) == millis


def test_a_creation_time_before_the_epoch_keeps_its_milliseconds() -> None:
    assert epoch_millis(-1, timezone(timedelta(hours=1))) == -3_600_001


def test_a_file_without_creation_time_has_none() -> None:
    assert FILE.creation_epoch_millis(BERLIN) is None


def test_a_file_moves_to_deeper_levels_only() -> None:
    assert FILE.upgrade(5).level == 5
    with pytest.raises(ValueError, match="cannot move"):
        FILE.upgrade(0)


def test_a_file_without_statistics_names_no_columns() -> None:
    bare = FILE.without_stats()
    assert (bare.value_stats, bare.value_stats_cols) == (EMPTY_STATS, ())


def test_a_renamed_file_stays_in_its_external_directory() -> None:
    assert FILE.rename("data-b-0.orc").external_path == "s3://b/x/data-b-0.orc"

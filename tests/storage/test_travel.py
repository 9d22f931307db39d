"""Which state of a table a read sees."""

from __future__ import annotations

from datetime import timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NoSuchSnapshotError, UnsupportedError
from paimon_sql.format.text.instants import parse_instant, show_instant
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS, Version, version_to_read
from tests.storage.small_tables import amend_latest, compact, fresh, insert, make_table

TIMES = {1: 1_000_000, 2: 2_000_000, 3: 3_000_000}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three snapshots, of 1000, 2000 and 3000 seconds, the last two with watermarks 20 and 30."""
    table = make_table(tmp_path / "t")
    for i, millis in TIMES.items():
        insert(table, (i, "v", "x"))
        amend_latest(table, timeMillis=millis, **({"watermark": i * 10} if i > 1 else {}))
        table = fresh(table)
    return table


def seen(table: Table, **options: Any) -> Version:
    keys = {f"scan.{k.replace('_', '-')}": str(v) for k, v in options.items()}
    return version_to_read(fresh(table).with_options(keys), timezone.utc)


def seen_id(table: Table, **options: Any) -> int | None:
    snapshot = seen(table, **options).snapshot
    return snapshot.id if snapshot else None


def test_the_newest_snapshot_is_read_by_default(table: Table) -> None:
    version = seen(table)
    assert (version.snapshot and version.snapshot.id, version.travelled, version.schema_id) == (3, False, 0)


def test_an_empty_table_has_no_snapshot_to_read(tmp_path: Path) -> None:
    assert seen(make_table(tmp_path / "e")).snapshot is None


def test_a_snapshot_is_read_by_number(table: Table) -> None:
    assert seen_id(table, snapshot_id=2) == 2
    with pytest.raises(NoSuchSnapshotError, match=r"snapshot 9 does not exist: retained are 1, of .*, to 3, of 19"):
        seen(table, snapshot_id=9)


def test_a_tag_is_read_by_name_and_wins_over_a_number(table: Table) -> None:
    create_tag(table, "early", 1)
    create_tag(table, "3", 2)
    assert seen_id(table, tag_name="early") == 1
    version = seen(table, version="3")
    assert (version.snapshot and version.snapshot.id, version.tag) == (2, "3")
    assert seen_id(table, version="2") == 2
    with pytest.raises(NoSuchSnapshotError, match="Tag 'late' does not exist: there are 3, early"):
        seen(table, tag_name="late")
    with pytest.raises(NoSuchSnapshotError, match="'nosuch'"):
        seen(table, version="nosuch")


def test_an_expired_snapshot_is_told_from_one_that_a_tag_keeps(table: Table) -> None:
    create_tag(table, "kept", 1)
    Path(table.snapshots.directory.path(1)).unlink()
    with pytest.raises(NoSuchSnapshotError, match="Tag 'kept' keeps it"):
        seen(table, snapshot_id=1)
    assert seen_id(table, version="kept") == 1


@pytest.mark.parametrize(("millis", "found"), [(1_000_000, 1), (1_999_999, 1), (2_000_000, 2), (9_000_000, 3)])
def test_a_time_reads_the_last_snapshot_at_or_before_it(table: Table, millis: int, found: int) -> None:
    assert seen_id(table, timestamp_millis=millis) == found


def test_a_time_is_written_as_text_too(table: Table) -> None:
    assert seen_id(table, timestamp="1970-01-01 00:40:00") == 2
    assert seen_id(table, timestamp="1970-01-01T00:33:20.000") == 2
    assert seen_id(table, timestamp="1970-01-02") == 3
    with pytest.raises(InvalidInputError, match="'yesterday'"):
        seen(table, timestamp="yesterday")


def test_a_time_before_the_first_snapshot_names_what_is_retained(table: Table) -> None:
    with pytest.raises(NoSuchSnapshotError, match=r"at or before 19.*retained are 1, of 19.*, to 3, of"):
        seen(table, timestamp_millis=999_999)


@pytest.mark.parametrize(("watermark", "found"), [(-5, 2), (20, 2), (21, 3), (30, 3)])
def test_a_watermark_reads_the_first_snapshot_that_reached_it(table: Table, watermark: int, found: int) -> None:
    assert seen_id(table, watermark=watermark) == found
    assert seen_id(table, version=f"watermark-{watermark}") == found


def test_a_watermark_that_nobody_reached_is_refused(table: Table, tmp_path: Path) -> None:
    with pytest.raises(NoSuchSnapshotError, match="the newest snapshot is at 30"):
        seen(table, watermark=31)
    plain = make_table(tmp_path / "w")
    insert(plain, (1, "v", "x"))
    with pytest.raises(NoSuchSnapshotError, match="no snapshot carries a watermark"):
        seen(plain, watermark=0)


def test_two_states_at_once_are_refused(table: Table) -> None:
    with pytest.raises(InvalidOptionError, match=r"scan.snapshot-id and scan.timestamp-millis each name a state"):
        seen(table, snapshot_id=1, timestamp_millis=5)
    assert "scan.version" in TRAVEL_KEYS


def test_a_mode_and_its_options_go_together(table: Table) -> None:
    for mode in ("default", "latest", "full", "latest-full", "compacted-full"):
        assert seen_id(table, mode=mode) == 3
    assert seen_id(table, mode="from-snapshot", snapshot_id=1) == 1
    assert seen_id(table, mode="from-snapshot-full", snapshot_id=1) == 1
    assert seen_id(table, mode="from-timestamp", timestamp_millis=2_000_000) == 2
    with pytest.raises(InvalidOptionError, match=r"needs scan.timestamp or scan.timestamp-millis"):
        seen(table, mode="from-timestamp", snapshot_id=1)
    with pytest.raises(InvalidOptionError, match=r"excludes scan.snapshot-id"):
        seen(table, mode="latest-full", snapshot_id=1)
    with pytest.raises(UnsupportedError, match="latest-delta"):
        seen(table, mode="latest-delta")


def test_the_compacted_state_is_that_of_the_last_compaction(tmp_path: Path) -> None:
    table = make_table(tmp_path / "k", primary_keys=("id",))
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "x"))
    compact(table)
    insert(table, (1, "c", "x"))
    assert seen_id(table, mode="compacted-full") == 3


def test_creation_times_choose_a_snapshot_or_files(table: Table) -> None:
    assert seen_id(table, creation_time_millis=1_500_000) == 2
    early = seen(table, creation_time_millis=5)
    assert (early.snapshot and early.snapshot.id, early.created_from_millis) == (3, 5)
    assert seen(table, file_creation_time_millis=2_000_000).created_from_millis == 2_000_000


def test_time_travel_shows_the_columns_of_then_under_the_options_of_now(table: Table) -> None:
    table.schemas.evolve(lambda s: type(s)(1, s.fields[:2], s.highest_field_id, options={"bucket": "-1"}))
    newest = table.schemas.latest()
    assert newest is not None
    opened = Table(table.name, table.path, table.file_io, newest).with_options({"scan.snapshot-id": "1"})
    version = version_to_read(opened)
    assert version.schema_id == 0
    assert version.of(opened).schema.names == ("id", "v", "p")
    assert version.of(opened).schema.options == opened.schema.options


def test_instants_follow_the_clock_of_a_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_instant("2024-07-01 02:00:00", berlin) == parse_instant("2024-07-01 00:00:00", timezone.utc)
    assert show_instant(0, berlin) == "1970-01-01 01:00:00.000+01:00"
    assert show_instant(-1, timezone.utc) == "1969-12-31 23:59:59.999+00:00"
    for text in ("", "12345", "2024-13-01", "2024-01-01 25:00:00"):
        with pytest.raises(InvalidInputError):
            parse_instant(text)

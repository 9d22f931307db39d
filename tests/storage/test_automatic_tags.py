"""Tags that a table makes and drops by itself."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.text.instants import epoch_millis
from paimon_sql.storage.maintenance.tags.automatic_creation import (
    execute_plan,
    plan_automatic_tags,
    tag_batch,
    wall_millis,
)
from paimon_sql.storage.maintenance.tags.management import (
    create_tag,
    delete_tags,
    expired_tags,
    rename_tag,
    replace_tag,
)
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import zone_of
from tests.storage.small_tables import amend_latest, fresh, insert, make_table, overwrite

BY_CLOCK = {"tag.automatic-creation": "process-time", "sink.process-time-zone": "UTC"}
BY_WATERMARK = {"tag.automatic-creation": "watermark"}


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


def commit_at(table: Table, *times: str, member: str = "timeMillis") -> None:
    for text in times:
        insert(table, (1, "v", "x"))
        amend_latest(table, **{member: moment(text)})


def run(table: Table) -> list[str]:
    return execute_plan(fresh(table), plan_automatic_tags(fresh(table)))


def tags(table: Table) -> dict[str, int]:
    return {t.name: t.snapshot.id for t in fresh(table).tags.all()}


def test_a_day_that_is_over_gets_its_tag_once(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", BY_CLOCK)
    assert run(table) == []
    commit_at(table, "2024-03-05T10:00")
    assert run(table) == ["2024-03-04"]
    commit_at(table, "2024-03-05T23:59:59")
    assert run(table) == []
    commit_at(table, "2024-03-06T00:00")
    assert run(table) == ["2024-03-05"]
    assert tags(table) == {"2024-03-04": 1, "2024-03-05": 3}
    assert run(table) == []


def test_late_rows_get_in_during_the_delay(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**BY_CLOCK, "tag.creation-period": "hourly", "tag.creation-delay": "10 min"})
    commit_at(table, "2024-03-05T10:00")
    run(table)
    commit_at(table, "2024-03-05T11:09:59")
    assert run(table) == []
    commit_at(table, "2024-03-05T11:10")
    assert run(table) == ["2024-03-05 10"]
    assert tags(table)["2024-03-05 10"] == 3


def test_spans_without_a_commit_have_no_tag_unless_they_are_completed(tmp_path: Path) -> None:
    options = {**BY_CLOCK, "tag.creation-period": "hourly"}
    times = ["2024-03-05T10:00", "2024-03-05T14:00", "2024-03-05T14:01", "2024-03-05T14:02", "2024-03-05T14:03"]
    table = make_table(tmp_path / "t", options)
    commit_at(table, *times)
    assert run(table) == ["2024-03-05 09", "2024-03-05 13"]
    table = make_table(tmp_path / "u", {**options, "tag.automatic-completion": "true"})
    commit_at(table, *times)
    assert tags_by_snapshot(run(table), table) == [(f"2024-03-05 {9 + i:02}", i + 1) for i in range(5)]


def tags_by_snapshot(names: list[str], table: Table) -> list[tuple[str, int]]:
    return [(name, tags(table)[name]) for name in names]


def test_only_so_many_stay_and_made_by_hand_ones_do(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**BY_CLOCK, "tag.num-retained-max": "2"})
    commit_at(table, "2024-03-01T10:00")
    create_tag(table, "mine")
    for day in (2, 3, 4, 5):
        commit_at(table, f"2024-03-0{day}T10:00")
        run(table)
    assert tags(table) == {"2024-03-03": 4, "2024-03-04": 5, "mine": 1}


def test_a_lower_number_holds_at_once(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", BY_CLOCK)
    for day in (1, 2, 3):
        commit_at(table, f"2024-03-0{day}T10:00")
        run(table)
    fewer = table.with_options({"tag.num-retained-max": "1"})
    assert run(fewer) == []
    assert list(tags(table)) == ["2024-03-02"]


def test_tags_that_would_go_at_once_are_not_made(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**BY_CLOCK, "tag.num-retained-max": "1"})
    commit_at(table, *(f"2024-03-0{day}T10:00" for day in (1, 2, 3)))
    plan = plan_automatic_tags(table)
    assert ([t.name for t in plan.create], plan.delete) == (["2024-03-02"], ())


def test_watermarks_tell_the_time_where_they_are_asked(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", BY_WATERMARK)
    insert(table, (1, "v", "x"))
    assert run(table) == []
    commit_at(table, "2024-03-05T10:00", "2024-03-05T20:00", "2024-03-06T00:00", member="watermark")
    assert run(table) == ["2024-03-04", "2024-03-05"]
    assert tags(table) == {"2024-03-04": 2, "2024-03-05": 4}
    amend_latest(table, watermark=2**63 - 1)
    assert run(table) == []


def test_a_write_can_bring_a_watermark_that_never_goes_back(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    assert insert(table, (1, "v", "x")).watermark is None
    assert insert(table.with_options({"end-input.watermark": "1000"}), (1, "v", "x")).watermark == 1000
    assert insert(table, (1, "v", "x")).watermark == 1000
    assert insert(table.with_options({"end-input.watermark": "500"}), (1, "v", "x")).watermark == 1000


def test_days_of_watermarks_begin_by_the_clock_of_their_zone(tmp_path: Path) -> None:
    for zone, name in (("UTC", "2024-03-04"), ("Asia/Tokyo", "2024-03-05")):
        table = make_table(tmp_path / name, {**BY_WATERMARK, "sink.watermark-time-zone": zone})
        commit_at(table, "2024-03-05T20:00", member="watermark")
        assert run(table) == [name]


def test_days_begin_by_the_clock_of_the_zone(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**BY_CLOCK, "sink.process-time-zone": "Asia/Tokyo"})
    commit_at(table, "2024-03-05T14:59", "2024-03-05T15:00")
    assert run(table) == ["2024-03-04", "2024-03-05"]


@given(st.integers(0, 4_000_000_000_000), st.sampled_from(["Europe/Oslo", "America/New_York", "UTC", "+05:45"]))
def test_a_wall_clock_is_that_of_its_zone_through_changes_of_the_clock(at: int, name: str) -> None:
    wall = wall_millis(at, zone_of(name))
    assert wall is not None
    back = epoch_millis(wall, zone_of(name))
    # The hour that a change of the clock repeats is read with the first offset.
    assert back == at or (isinstance(zone_of(name), ZoneInfo) and at - back == 3_600_000)


@pytest.mark.parametrize(
    ("name", "hours"), [("GMT+8", 8), ("UTC-03:30", -3.5), ("+9", 9), ("+0530", 5.5), ("Z", 0), ("UTC", 0)]
)
def test_zones_have_the_names_that_java_gives_them(name: str, hours: float) -> None:
    assert datetime(2024, 1, 1, tzinfo=zone_of(name)).utcoffset() == timedelta(hours=hours)


def test_tags_tell_how_long_they_live_and_go_then(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    for name, life in (("a", None), ("b", timedelta(hours=1)), ("c", timedelta(days=3)), ("d", timedelta.max)):
        create_tag(table, name, time_retained=life)
    now = datetime.now()
    assert expired_tags(table, now) == []
    assert [t.name for t in expired_tags(table, now + timedelta(hours=2))] == ["b"]
    assert [t.name for t in expired_tags(table, now + timedelta(days=4))] == ["b", "c"]
    assert [t.name for t in expired_tags(table, now, older_than=now + timedelta(1))] == ["a", "b", "c", "d"]
    os.utime(table.tags.path("a"), (1, 1))
    assert [t.name for t in expired_tags(table, now, older_than=datetime(2000, 1, 1))] == ["a"]


def test_a_tag_that_lived_for_ever_is_looked_at_again_once_it_is_replaced(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    create_tag(table, "a")
    assert expired_tags(table) == []
    replace_tag(table, "a", time_retained=timedelta(hours=1))
    assert [t.name for t in expired_tags(table, datetime.now() + timedelta(hours=2))] == ["a"]


def test_batch_writes_move_the_tag_of_their_day(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"tag.automatic-creation": "batch", "sink.process-time-zone": "UTC"})
    first = insert(table, (1, "v", "x"))
    day = datetime.fromtimestamp(first.time_millis / 1000, timezone.utc)
    name = f"batch-write-{day:%Y-%m-%d}"
    assert tags(table) == {name: 1}
    create_tag(table, "mine")
    insert(table, (2, "v", "x"))
    overwrite(table, (3, "v", "x"))
    assert tags(table) == {name: 3, "mine": 1}
    assert tag_batch(make_table(tmp_path / "u")) is None


def test_batch_tags_over_the_limit_go(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"tag.automatic-creation": "batch", "tag.num-retained-max": "2"})
    insert(table, (1, "v", "x"))
    for name in tags(table):
        delete_tags(table, [name])
    for name in ("batch-write-2024-01-01", "batch-write-2024-01-02", "mine"):
        create_tag(table, name)
    insert(table, (2, "v", "x"))
    assert sorted(tags(table))[:1] == ["batch-write-2024-01-02"]
    assert "mine" in tags(table)
    assert len(tags(table)) == 3


def test_a_batch_tag_may_have_a_name_of_its_own(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"tag.automatic-creation": "batch", "tag.batch.customized-name": "done"})
    insert(table, (1, "v", "x"))
    assert tags(table) == {"done": 1}


def test_names_that_batches_had_before_count_among_their_tags(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "batch", "tag.num-retained-max": "1", "tag.batch.customized-name": "one"}
    table = make_table(tmp_path / "t", options)
    insert(table, (1, "v", "x"))
    create_tag(table, "mine")
    renamed = {"tag.batch.customized-name": "two"}
    changed = table.schemas.evolve(lambda s: replace(s, id=s.id + 1, options={**s.options, **renamed}))
    table = replace(table, schema=changed)
    insert(table, (2, "v", "x"))
    assert tags(table) == {"two": 2, "mine": 1}


def test_a_success_file_comes_and_goes_with_its_tag(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"tag.create-success-file": "true"})
    insert(table, (1, "v", "x"))
    create_tag(table, "a")
    folder = tmp_path / "t" / "tag" / "tag-success-file"
    body = json.loads((folder / "a_SUCCESS").read_text())
    assert body["creationTime"] == body["modificationTime"] > 0
    rename_tag(table, "a", "b")
    assert [p.name for p in folder.iterdir()] == ["b_SUCCESS"]
    assert tags(table) == {"b": 1}
    delete_tags(table, ["b"])
    assert list(folder.iterdir()) == []


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(0, 59), st.booleans())
def test_the_tags_are_those_of_a_model_that_looks_at_each_commit(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], delay: int, completes: bool
) -> None:
    """Whether the table looks after each commit or only at the end, an hour is tagged by the first commit behind it."""
    options = {
        **BY_CLOCK,
        "tag.creation-period": "hourly",
        "tag.creation-delay": f"{delay} min",
        "tag.automatic-completion": str(completes).lower(),
    }
    table, stepwise = (make_table(tmp_path_factory.mktemp("t") / "t", options) for _ in range(2))
    at, following, expected = 0, None, {}
    for i, step in enumerate(steps, 1):
        at += step * 7
        text = (datetime(2024, 1, 1) + timedelta(minutes=at)).isoformat()
        for t in (table, stepwise):
            commit_at(t, text)
        run(stepwise)
        if following is None or at - delay >= following + 60:
            begin = following if completes and following is not None else (at // 60 - 1) * 60
            expected[f"{datetime(2024, 1, 1) + timedelta(minutes=begin):%Y-%m-%d %H}"] = i
            following = begin + 60
    run(table)
    assert tags(table) == tags(stepwise) == expected

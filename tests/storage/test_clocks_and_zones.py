"""Processes whose clocks differ, by their zones or by being wrong: no age jumps, and history goes forwards."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.maintenance.tags.management import create_tag, expired_tags
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import snapshot_at_time
from tests.storage.core_tables import again, insert, make_table

WESTERNMOST, EASTERNMOST = "Etc/GMT+12", "Pacific/Kiritimati"
ZONES = (WESTERNMOST, "UTC", EASTERNMOST)
HOUR = 3_600_000
OTHER = """
import json, pickle, sys, time
given = json.load(sys.stdin)
real = time.time
time.time = lambda: real() + given["skew"]
sys.path.insert(0, given["tests"])
from datetime import timedelta
from tests.storage.core_tables import again, insert
from paimon_sql.storage.maintenance.partitions.expiration import plan_partition_expiry
from paimon_sql.storage.maintenance.tags.management import expired_tags
from paimon_sql.storage.maintenance.tags.management import create_tag
with open(given["table"], "rb") as file:
    table = pickle.load(file)
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[..., Any]:
    """Runs code over a table in a process with another zone and a clock that is so many seconds ahead."""

    def run(table: Table, code: str, zone: str = "UTC", skew: float = 0) -> Any:
        place = tmp_path / "table.pickle"
        place.write_bytes(pickle.dumps(again(table)))
        given = {"table": str(place), "skew": skew, "tests": str(Path(__file__).parents[2])}
        command = [sys.executable, "-c", f"{OTHER}\nprint(json.dumps({code}))"]
        done = subprocess.run(
            command, env={**os.environ, "TZ": zone}, input=json.dumps(given), check=True, capture_output=True, text=True
        )
        return json.loads(done.stdout)

    return run


def clock_of(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Set this process's zone."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()


@pytest.fixture(autouse=True)
def own_zone(monkeypatch: pytest.MonkeyPatch) -> Any:
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("maker", [WESTERNMOST, EASTERNMOST])
def test_a_tag_lives_as_long_in_every_zone(
    tmp_path: Path, elsewhere: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, maker: str
) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    elsewhere(table, "create_tag(table, 'kept', time_retained=timedelta(hours=1)) and None", zone=maker)
    for zone in ZONES:
        clock_of(monkeypatch, zone)
        for made_ago, names in ((0, []), (HOUR - 60_000, []), (HOUR + 60_000, ["kept"])):
            now = datetime.fromtimestamp((current_millis() + made_ago) / 1000, timezone.utc)
            assert [t.name for t in expired_tags(again(table), now)] == names
            local = datetime.fromtimestamp((current_millis() + made_ago) / 1000)
            assert [t.name for t in expired_tags(again(table), local)] == names


def test_a_tag_that_was_copied_is_as_old_as_it_tells(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    create_tag(table, "kept", time_retained=timedelta(hours=1))
    tag, long_ago = table.tags.get("kept"), datetime(2020, 1, 1)
    Path(table.tags.path("kept")).write_text(replace(tag, create_time=long_ago).to_json())
    assert [t.name for t in expired_tags(again(table))] == ["kept"]
    assert expired_tags(again(table), long_ago + timedelta(minutes=59)) == []


def test_a_change_of_clocks_makes_no_tag_older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock_of(monkeypatch, "Europe/Berlin")
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    create_tag(table, "kept", time_retained=timedelta(minutes=90))
    tag = table.tags.get("kept")
    Path(table.tags.path("kept")).write_text(replace(tag, create_time=datetime(2024, 3, 31, 1, 30)).to_json())
    assert expired_tags(again(table), datetime(2024, 3, 31, 3, 40)) == []  # ten minutes later
    assert [t.name for t in expired_tags(again(table), datetime(2024, 3, 31, 4, 10))] == ["kept"]


UPDATED = {"partition.expiration-time": "1 h", "partition.expiration-strategy": "update-time"}


@pytest.mark.parametrize("zone", ZONES)
def test_a_partition_that_was_changed_far_in_the_west_is_not_older(
    tmp_path: Path, elsewhere: Callable[..., Any], zone: str
) -> None:
    table = make_table(tmp_path / "t", UPDATED, partitions=["p"])
    elsewhere(table, "insert(table, (1, 'v', 'x')) and None", zone=WESTERNMOST)
    planned = "[p.text for p in plan_partition_expiry(table).partitions]"
    assert elsewhere(table, planned, zone=zone) == []
    for path in (tmp_path / "t" / "p=x").rglob("*.*"):
        os.utime(path, (time.time() - 7200,) * 2)
    # Its files are old by the store's clock, and so it goes where it is old by the manifest's, too.
    assert elsewhere(table, planned, zone=zone) == ([] if zone == WESTERNMOST else ["p=x"])
    assert elsewhere(table, planned, zone=zone, skew=2 * 3600 + 60) == ["p=x"]


def test_a_change_of_clocks_makes_no_partition_older(tmp_path: Path, elsewhere: Callable[..., Any]) -> None:
    table = make_table(tmp_path / "t", UPDATED, partitions=["p"])
    moment = datetime(2024, 3, 31, 0, 55, tzinfo=timezone.utc).timestamp()  # five minutes before summer time
    elsewhere(table, "insert(table, (1, 'v', 'x')) and None", zone="Europe/Berlin", skew=moment - time.time())
    planned = "[p.text for p in plan_partition_expiry(table).partitions]"
    for path in (tmp_path / "t" / "p=x").rglob("*.*"):
        os.utime(path, (moment, moment))
    for minutes, gone in ((10, []), (70, ["p=x"])):
        assert elsewhere(table, planned, zone="Europe/Berlin", skew=moment + 60 * minutes - time.time()) == gone


def test_the_times_of_snapshots_never_go_back(tmp_path: Path, elsewhere: Callable[..., Any]) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    for number, skew in enumerate((-86_400, 3600, -86_400, 0), 2):
        elsewhere(table, f"insert(table, ({number}, 'v', 'x')) and None", skew=skew)
    snapshots = [again(table).snapshots.get(i) for i in range(1, 6)]
    times = [s.time_millis for s in snapshots]
    assert times == sorted(times)
    assert abs(times[-1] - current_millis() - HOUR) < 10 * 60_000
    for snapshot in snapshots:
        found = snapshot_at_time(again(table), snapshot.time_millis)
        assert found.time_millis == snapshot.time_millis and found.id >= snapshot.id


def test_the_times_of_schemas_never_go_back(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    changed = apply_changes(
        table.schema, [SetOption("snapshot.num-retained.max", "20")], has_data=True, now=lambda: 1.0
    )
    assert changed.time_millis == table.schema.time_millis

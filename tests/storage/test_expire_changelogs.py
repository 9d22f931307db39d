"""Changelogs that outlive their snapshots, and their end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_changelogs, expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.retention.policy import Retention, changelog_retention_of, outlives_snapshots, retention_of
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import compact, fresh, insert, make_table, on_disk, overwrite, reachable, rows_at

LONGER = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "changelog.num-retained.min": "1"}


def expire(table: Table) -> int:
    table = fresh(table)
    now = int(time.time() * 1000)
    return expire_snapshots(table, retention_of(table.options, now), now_millis=now).changelogs


def changelogs(table: Table) -> list[int]:
    return table.changelogs.ids()


def test_nothing_is_decoupled_unless_changelogs_live_longer(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"changelog.num-retained.max": "50", "changelog.time-retained": "1 min"})
    assert not outlives_snapshots(table.options)
    longer = table.with_options({"changelog.time-retained": "2 h"})
    assert outlives_snapshots(longer.options)
    retention = changelog_retention_of(longer.options, 10_000_000)
    assert (retention.max, retention.min, retention.older_than_millis) == (50, 10, 2_800_000)


def test_a_changelog_maximum_under_its_minimum_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"changelog.num-retained.max": "5", "changelog.time-retained": "2 h"})
    with pytest.raises(InvalidInputError, match=r"changelog.num-retained.max is 5"):
        changelog_retention_of(table.with_options({"changelog.num-retained.min": "7"}).options, 0)


def test_an_expired_snapshot_leaves_its_changelog_behind(tmp_path: Path) -> None:
    options = {**LONGER, "changelog.num-retained.max": "4", "changelog-producer": "input"}
    table = make_table(tmp_path / "t", options)
    for i in range(6):
        insert(table, (i, "v", "x"), changelog=True)
        expire(table)
        first = max(1, i + 2 - 4)
        assert changelogs(table) == list(range(first, max(first, i)))
        assert on_disk(table) == reachable(table)
    assert fresh(table).snapshots.directory.versions() == [5, 6]
    assert (Path(table.path) / "changelog" / "EARLIEST").read_text() == "3"
    assert (Path(table.path) / "changelog" / "LATEST").read_text() == "4"


def test_new_rows_are_the_changelog_of_a_table_that_makes_none(tmp_path: Path) -> None:
    options = {**LONGER, "changelog.num-retained.max": "4"}
    table = make_table(tmp_path / "t", options, primary_keys=("id",))
    for i in range(4):
        insert(table, (i % 2, f"v{i}", "x"))
        insert(table, (i % 2, f"w{i}", "x"))
        compact(table)
        expire(table)
        assert reachable(table) <= on_disk(table)
        latest = fresh(table).snapshots.latest()
        assert latest is not None
        assert rows_at(table, latest)[-1] == (min(i, 1), f"w{i if i % 2 or i == 0 else i - 1}", "x")
    assert changelogs(table) == [9, 10]
    kept = {c for c in on_disk(table) if c.endswith(".parquet")}
    assert len(kept) >= len({p for p in reachable(table) if p.endswith(".parquet")}) > 1


def test_a_rollback_drops_later_changelogs(tmp_path: Path) -> None:
    options = {**LONGER, "changelog.num-retained.max": "100", "changelog-producer": "input"}
    table = make_table(tmp_path / "t", options)
    for i in range(4):
        insert(table, (i, "v", "x"), changelog=True)
    expire(table)
    assert changelogs(table) == [1, 2]
    assert rollback_to_snapshot(fresh(table), 3).snapshots == 1
    assert changelogs(table) == [1, 2]


def test_the_producer_is_asked_before_files_of_new_rows_go(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**LONGER, "changelog.num-retained.max": "50", "changelog-producer": "input"})
    insert(table, (1, "a", "x"), changelog=True)
    overwrite(table, (2, "b", "x"))
    overwrite(table, (3, "c", "x"))
    expire(table)
    data = list((Path(table.path) / "bucket-0").iterdir())
    assert len(data) == 3  # two retained, and the changelog of the first


def dry(table: Table) -> ExpirationResult:
    table = fresh(table)
    now = int(time.time() * 1000)
    return expire_snapshots(table, retention_of(table.options, now), now_millis=now, dry_run=True)


@pytest.mark.parametrize("producer", ["input", "none"])
def test_a_dry_run_names_the_changelogs_that_would_go_and_their_files(tmp_path: Path, producer: str) -> None:
    options = {**LONGER, "changelog.num-retained.max": "4", "changelog-producer": producer}
    table = make_table(tmp_path / "t", options)
    for i in range(7):
        insert(table, (i, "v", "x"), changelog=producer == "input")
    overwrite(table, (9, "w", "x"))
    for _ in range(2):
        before = on_disk(table)
        planned = dry(table)
        assert on_disk(table) == before
        assert planned.changelogs == expire(table)
        gone = [p for p in before - on_disk(table) if p.endswith(".parquet")]
        assert planned.files.data + planned.files.changelog == len(gone)
    assert changelogs(table) == [5, 6]


def test_all_changelogs_may_go_but_those_that_a_consumer_wants(tmp_path: Path) -> None:
    options = {**LONGER, "changelog.num-retained.max": "50", "changelog-producer": "input"}
    table = make_table(tmp_path / "t", options)
    for i in range(6):
        insert(table, (i, "v", "x"), changelog=True)
    expire(table)
    assert changelogs(table) == [1, 2, 3, 4]
    table.consumers.reset("job", 3)
    retention = changelog_retention_of(table.options, 0)
    done = expire_changelogs(fresh(table), retention, everything=True)
    assert (done.changelogs, done.earliest, done.latest) == ([1, 2], 3, 4)
    assert "consumer" in done.reason
    table.consumers.remove("job")
    done = expire_changelogs(fresh(table), retention, everything=True)
    assert (done.changelogs, done.earliest) == ([3, 4], None)
    assert list((Path(table.path) / "changelog").iterdir()) == []
    assert on_disk(table) == reachable(table)
    assert expire_changelogs(fresh(table), retention, everything=True).changelogs == []


def test_changelogs_go_with_a_commit_after_which_no_snapshot_goes(tmp_path: Path) -> None:
    options = {**LONGER, "changelog.num-retained.max": "50", "changelog-producer": "input"}
    table = make_table(tmp_path / "t", options)
    for i in range(6):
        insert(table, (i, "v", "x"), changelog=True)
    expire(table)
    shorter = fresh(table).with_options({"changelog.num-retained.max": "4"})
    now = int(time.time() * 1000)
    done = expire_snapshots(shorter, retention_of(shorter.options, now), leftovers=False, now_millis=now)
    assert (done.snapshots, done.changelogs) == ([], 2)
    assert changelogs(table) == [3, 4]


def test_changelogs_of_a_time_when_they_lived_longer_are_kept_whole(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**LONGER, "changelog.num-retained.max": "50"})
    insert(table, (1, "a", "x"))
    overwrite(table, (2, "b", "x"))
    insert(table, (3, "c", "x"))
    expire(table)
    assert changelogs(table) == [1]
    shorter = {"changelog.num-retained.max": "1"}
    for i in range(4, 8):
        overwrite(table, (i, "v", "x"))
        expire_snapshots(table.with_options(shorter), Retention(1, 1, 2**62, 50))
    assert changelogs(table) == [1]
    assert reachable(fresh(table)) <= on_disk(table)

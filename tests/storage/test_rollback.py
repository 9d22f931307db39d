"""Rollback to snapshots, tags and times."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError, PaimonError
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import (
    rollback_to_snapshot,
    rollback_to_tag,
    rollback_to_time,
    rollback_to_watermark,
)
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from tests.storage.interrupted_io import InterruptedFileIO
from tests.storage.small_tables import amend_latest, fresh, insert, make_table, overwrite, rows_at


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = make_table(tmp_path / "t")
    for i in range(1, 6):
        insert(table, (i, "v", "x"))
    return table


def versions(table: Table) -> list[int]:
    return table.snapshots.directory.versions()


def test_later_snapshots_and_their_tags_go(table: Table) -> None:
    create_tag(table, "two", 2)
    create_tag(table, "five", 5)
    create_tag(table, "cinq", 5)
    result = rollback_to_snapshot(fresh(table), 4)
    assert (result.previous, result.current, result.snapshots, result.tags) == (5, 4, 1, ["cinq", "five"])
    assert versions(table) == [1, 2, 3, 4]
    assert table.tags.names() == ["two"]
    assert (Path(table.path) / "snapshot" / "LATEST").read_text() == "4"
    result = rollback_to_tag(fresh(table), "two")
    assert (result.previous, result.current) == (4, 2)
    assert len(rows_at(table, fresh(table).snapshots.get(2))) == 2


def test_the_next_commit_takes_the_number_after_the_target(table: Table) -> None:
    rollback_to_snapshot(fresh(table), 2)
    assert insert(fresh(table), (30, "n", "x")).id == 3
    assert [r[0] for r in rows_at(table, fresh(table).snapshots.get(3))] == [1, 2, 30]


def test_rolling_back_to_the_newest_changes_nothing(table: Table) -> None:
    result = rollback_to_snapshot(fresh(table), 5)
    assert (result.previous, result.current, result.snapshots) == (5, 5, 0)
    assert versions(table) == [1, 2, 3, 4, 5]


def test_a_tag_brings_its_expired_snapshot_back(table: Table) -> None:
    create_tag(table, "two", 2)
    overwrite(table, (9, "z", "x"))
    opened = fresh(table)
    expire_snapshots(opened, retention_of(opened.options, int(time.time() * 1000), Limits(retain_max=1, retain_min=1)))
    assert versions(table) == [6]
    assert rollback_to_snapshot(fresh(table), 2).current == 2
    assert versions(table) == [2]
    assert (Path(table.path) / "snapshot" / "EARLIEST").read_text() == "2"
    latest = fresh(table).snapshots.latest()
    assert latest is not None
    assert [r[0] for r in rows_at(table, latest)] == [1, 2]
    assert table.tags.names() == ["two"]


def test_unknown_targets_are_refused_and_nothing_changes(table: Table, tmp_path: Path) -> None:
    with pytest.raises(NoSuchSnapshotError, match="retained are 1"):
        rollback_to_snapshot(table, 7)
    with pytest.raises(NoSuchSnapshotError, match="'five'"):
        rollback_to_tag(table, "five")
    with pytest.raises(NoSuchSnapshotError, match="no snapshot yet"):
        rollback_to_snapshot(make_table(tmp_path / "e"), 1)
    assert versions(table) == [1, 2, 3, 4, 5]


def test_a_time_means_the_last_snapshot_at_or_before_it(table: Table) -> None:
    assert rollback_to_time(fresh(table), 99_999_999_999_999).current == 5
    with pytest.raises(NoSuchSnapshotError, match="at or before"):
        rollback_to_time(fresh(table), 1000)
    third = fresh(table).snapshots.get(3)
    assert rollback_to_time(fresh(table), third.time_millis).current == 3


def test_a_watermark_means_the_first_snapshot_that_reached_it(table: Table) -> None:
    with pytest.raises(NoSuchSnapshotError, match="no snapshot has a watermark"):
        rollback_to_watermark(table, 5)
    amend_latest(table, watermark=7)
    assert rollback_to_watermark(fresh(table), 6).current == 5


def test_a_tag_of_a_history_that_is_gone_is_no_target(table: Table) -> None:
    create_tag(table, "four", 4)
    path = Path(table.tags.path("four"))
    text = path.read_text()
    rollback_to_snapshot(fresh(table), 2)
    path.write_text(text)
    for i in range(3):
        insert(fresh(table), (70 + i, "n", "x"))
    with pytest.raises(CommitConflictError, match="not the one of the table's history"):
        rollback_to_tag(fresh(table), "four")
    assert versions(table) == [1, 2, 3, 4, 5]


def test_a_broken_off_rollback_is_finished_by_the_next(table: Table) -> None:
    create_tag(table, "five", 5)
    Path(table.snapshots.directory.path(5)).unlink()
    result = rollback_to_snapshot(fresh(table), 3)
    assert (result.previous, result.tags) == (4, ["five"])
    assert versions(table) == [1, 2, 3]


def test_others_may_go_on_and_expire_at_any_moment_of_a_rollback(tmp_path: Path) -> None:
    plain = make_table(tmp_path / "t", {"commit.max-retries": "1", "commit.min-retry-wait": "1 ms"})
    for i in (1, 2, 3):
        insert(plain, (i, "v", "x"))

    def go_on(table: Table) -> None:
        with suppress(CommitConflictError):  # in the moments at which writers wait
            insert(fresh(table), (10, "rival", "x"))
            insert(fresh(table), (11, "rival", "x"))
        opened = fresh(table)
        expire_snapshots(
            opened, retention_of(opened.options, int(time.time() * 1000), Limits(retain_max=1, retain_min=1))
        )

    counting = InterruptedFileIO(also=("list", "read"))
    rollback_to_snapshot(copied(plain, tmp_path / "counted", counting), 2)
    for at in range(0, counting.count, 2):
        table = copied(plain, tmp_path / f"copy-{at}", LocalFileIO())
        rival = InterruptedFileIO(at, lambda: go_on(table), also=("list", "read"))  # noqa: B023
        with suppress(PaimonError):
            rollback_to_snapshot(replace(table, file_io=rival), 2)
        opened = fresh(table)
        earliest, ids = opened.snapshots.earliest_id(), versions(opened)
        assert earliest in ids and ids == list(range(ids[0], ids[-1] + 1))
        for i in ids[ids.index(earliest) :]:
            found = [r[0] for r in rows_at(opened, opened.snapshots.get(i))]
            assert found[:2] == [1, 2] and set(found) <= {1, 2, 3, 10, 11}
        find_orphans(opened, Search(0, LocalExecutor(1)))
        shutil.rmtree(table.path)


def copied(table: Table, path: Path, file_io: FileIO) -> Table:
    shutil.copytree(table.path, path)
    return fresh(replace(table, path=str(path), file_io=file_io))

"""Purging a table: nothing is left but the table, whatever it held, and a crash anywhere can be gone on from."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import CommitUnknownError, UnsupportedError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.operations import purge as purging
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from tests.storage.interrupted_io import Crash, InterruptedFileIO
from tests.storage.small_tables import (
    add_branch,
    amend_latest,
    compact,
    fresh,
    insert,
    make_table,
    on_disk,
    overwrite,
    reachable,
    rows_at,
)

LONGER = {
    "changelog-producer": "input",
    "changelog.num-retained.max": "100",
    "snapshot.num-retained.max": "50",
}


def expire(table: Table, keep: int) -> None:
    table = fresh(table)
    expire_snapshots(table, retention_of(table.options, 2**62, Limits(retain_max=keep, retain_min=keep)))


def history(path: Path, options: dict[str, str] | None = None) -> Table:
    """A table with snapshots, tags, changelogs, consumers and a branch with files of its own."""
    table = make_table(path / "t", options, primary_keys=("id",))
    for i in range(4):
        insert(table, (i % 2, f"v{i}", "x"))
        create_tag(table, f"t{i}")
    compact(table)
    branch = add_branch(table, "b", "t1")
    insert(branch, (7, "branch", "x"))
    table.consumers.reset("c", 5)
    expire(table, 2)
    empty = replace(table, branch="e")
    for schema in table.schemas.all():
        empty.schemas.try_add(schema)
    for i in range(8):  # which have the numbers that main's have
        insert(empty, (i, "e", "x"))
    return table


@pytest.mark.parametrize("options", [{}, LONGER], ids=["plain", "decoupled"])
def test_nothing_but_an_empty_snapshot_is_left(tmp_path: Path, options: dict[str, str]) -> None:
    table = history(tmp_path, options)
    before = on_disk(table)
    planned = purge(fresh(table), dry_run=True)
    assert on_disk(table) == before
    done = purge(fresh(table))
    assert replace(planned, snapshot=done.snapshot) == done
    assert done.files.count == len(before)
    assert (done.tags, done.branches, done.consumers) == (["t0", "t1", "t2", "t3", "t1"], ["b", "e"], ["c"])
    table = fresh(table)
    latest = table.snapshots.latest()
    assert latest is not None and done.snapshot == latest
    assert rows_at(table, latest) == []
    assert table.snapshots.directory.versions() == [latest.id]
    assert table.snapshots.directory.hint(EARLIEST) == latest.id
    assert not (table.tags.names() or table.branches.names() or table.consumers.names())
    assert table.changelogs.ids() == []
    assert on_disk(table) == reachable(table)
    assert {Path(p).parent.name for p in on_disk(table)} == {"manifest"}
    insert(table, (9, "new", "x"))
    assert rows_at(table, fresh(table).snapshots.latest()) == [(9, "new", "x")]  # type: ignore[arg-type]
    assert purge(fresh(table)).snapshots == 2


def test_a_purged_table_can_be_purged_again(tmp_path: Path) -> None:
    table = history(tmp_path)
    first = purge(fresh(table))
    again = purge(fresh(table))
    assert again.snapshot == first.snapshot
    assert (again.snapshots, again.files.count) == (0, 0)
    empty = make_table(tmp_path / "u")
    assert purge(empty).snapshot is None


def test_files_of_statistics_stay_with_the_snapshot(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    table.file_io.write_bytes(table.paths.statistics("stat-1"), b"{}")
    amend_latest(table, statistics="stat-1")
    planned = purge(fresh(table), dry_run=True)
    assert purge(fresh(table)).files == planned.files
    assert on_disk(table) == reachable(fresh(table))


def test_a_branch_is_not_purged_by_itself(tmp_path: Path) -> None:
    table = history(tmp_path)
    with pytest.raises(UnsupportedError, match="shares its files"):
        purge(replace(fresh(table), branch="b"))


def test_a_purge_can_crash_anywhere(tmp_path: Path) -> None:
    table = history(tmp_path, LONGER)
    counting = InterruptedFileIO()
    shutil.copytree(table.path, tmp_path / "counted")
    purge(replace(fresh(table), path=str(tmp_path / "counted"), file_io=counting))
    assert counting.count > 30
    for at in range(0, counting.count, 5):
        copy = tmp_path / f"copy-{at}"
        shutil.copytree(table.path, copy)
        crashed = replace(fresh(table), path=str(copy), file_io=InterruptedFileIO(at))
        with pytest.raises(Crash):
            purge(crashed)
        survivor = replace(fresh(table), path=str(copy), file_io=LocalFileIO())
        latest = survivor.snapshots.latest()
        assert latest is not None
        assert rows_at(survivor, latest) in ([(0, "v2", "x"), (1, "v3", "x")], [])
        assert reachable(survivor) <= on_disk(survivor)
        purge(fresh(survivor))
        overwrite(survivor, (1, "later", "x"))
        expire(survivor, 1)
        assert fresh(survivor).snapshots.directory.versions() == [fresh(survivor).snapshots.latest_id()]
        assert reachable(fresh(survivor)) <= on_disk(survivor)
        shutil.rmtree(copy)


def test_a_tag_made_meanwhile_stops_the_removal(tmp_path: Path) -> None:
    table = history(tmp_path)
    for at in range(0, 90, 4):
        shutil.copytree(table.path, tmp_path / "copy")
        plain = replace(fresh(table), path=str(tmp_path / "copy"))
        rival = InterruptedFileIO(at, lambda: create_tag(fresh(plain), "rival"), also=("list",))  # noqa: B023
        try:
            purge(replace(plain, file_io=rival))
        except CommitUnknownError as error:
            assert "tags or branches were created" in str(error)
        assert reachable(fresh(plain)) <= on_disk(plain)
        shutil.rmtree(tmp_path / "copy")
        if rival.at is not None:
            return


def test_a_tag_that_came_and_went_meanwhile_takes_no_file_of_its_snapshot_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = history(tmp_path, {"changelog-producer": "input"})
    kept, waiting = purging._kept_elsewhere, [True]

    def meanwhile(asked: Table) -> Sequence[Snapshot]:
        latest = fresh(table).snapshots.latest()
        if not waiting or asked.branch != MAIN_BRANCH or latest is None or latest.total_record_count:
            return kept(asked)
        waiting.clear()
        insert(fresh(table), (77, "new", "x"), changelog=True)
        create_tag(fresh(table), "short")
        found = [*kept(asked)]
        table.tags.remove("short")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(purging, "_kept_elsewhere", meanwhile)
        purge(fresh(table))
    latest = fresh(table).snapshots.latest()
    assert not waiting and latest is not None
    assert rows_at(table, latest) == [(77, "new", "x")]
    assert reachable(table) <= on_disk(table)

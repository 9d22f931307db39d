"""Data files that somebody deleted by hand: found, and taken out of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import CommitConflictError
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.repair.lost_files import LostFile, find_lost, remove_lost
from paimon_sql.storage.table.table import Table
from tests.storage import core_tables as core


def lost_of(table: Table, tasks: int | None = None) -> list[LostFile]:
    table = core.again(table)
    latest = table.snapshots.latest()
    assert latest is not None
    return find_lost(table, latest, LocalExecutor(), tasks)


def remove(table: Table) -> None:
    latest = core.again(table).snapshots.latest()
    assert latest is not None
    remove_lost(core.again(table), latest, lost_of(table))


@pytest.mark.parametrize("tasks", [None, 1, 3])
def test_only_missing_files_go(tmp_path: Path, tasks: int | None) -> None:
    table = core.make_table(tmp_path / "t", partitions=("p",))
    for i in range(4):
        core.insert(table, (i, f"v{i}", f"p{i % 2}"))
    assert lost_of(table, tasks) == []
    victims = sorted(p for p in Path(table.path).rglob("data-*"))[1:3]
    for path in victims:
        path.unlink()
    found = lost_of(table, tasks)
    assert [f.path for f in found] == sorted(map(str, victims))
    remove(table)
    assert len(core.rows(table)) == 2
    assert lost_of(table, tasks) == []
    core.insert(table, (9, "v9", "p1"))
    assert len(core.rows(table)) == 3


def test_a_folder_that_is_gone_is_a_table_without_rows(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t", keys=("id",))
    core.insert(table, (1, "v", None))
    for path in (Path(table.path) / "bucket-0").iterdir():
        path.unlink()
    (Path(table.path) / "bucket-0").rmdir()
    remove(table)
    assert core.rows(table) == []


def test_deletion_vectors_of_lost_files_go_too(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t", {"deletion-vectors.enabled": "true"}, keys=("id",))
    core.insert(table, (1, "a", None), (2, "b", None))
    core.compact(table)
    core.insert(table, (2, "c", None))
    core.compact(table, full=False)
    for file in Path(table.path).rglob("data-*"):
        file.unlink()
    remove(table)
    assert core.rows(table) == []
    core.insert(table, (2, "d", None))
    core.compact(table)
    assert core.rows(table) == [(2, "d", None)]


def test_a_rival_that_removed_the_file_first_is_a_conflict(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "t")
    core.insert(table, (1, "v", None))
    latest = core.again(table).snapshots.latest()
    assert latest is not None
    next(Path(table.path).rglob("data-*")).unlink()
    lost = lost_of(table)
    core.overwrite(table, (2, "w", None))
    with pytest.raises(CommitConflictError, match="was removed by another job"):
        remove_lost(core.again(table), latest, lost)
    assert core.rows(table) == [(2, "w", None)]

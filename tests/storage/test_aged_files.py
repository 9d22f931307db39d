"""Writers that stand still for longer than the grace period of orphan files: no snapshot names what is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.commit.checks import conflicts
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import again, insert, make_table, rows, written
from tests.storage.small_tables import on_disk, reachable

_HOUR = 3_600_000


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = make_table(tmp_path / "t", {"bucket": "1"}, keys=["id"])
    made = Table(made.name, made.path, LocalFileIO(durable=False), made.schema)
    insert(made, (1, "a", "x"))
    return made


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is two hours later for those who commit."""
    monkeypatch.setattr(conflicts, "current_millis", lambda: current_millis() + 2 * _HOUR)


def test_a_writer_whose_files_were_taken_for_orphans_commits_nothing(table: Table, later: None) -> None:
    messages = written(again(table), (2, "b", "x"))
    assert remove_orphans(find_orphans(again(table), Search(2**62, LocalExecutor()))).data == 1
    with pytest.raises(CommitConflictError, match="1 files that the statement wrote were removed"):
        commits.append(again(table), messages)
    assert [row[0] for row in rows(table)] == [1]
    assert reachable(table) <= on_disk(table)


def test_a_writer_that_was_slow_commits_what_still_stands(table: Table, later: None) -> None:
    commits.append(again(table), written(again(table), (2, "b", "x")))
    assert sorted(row[0] for row in rows(table)) == [1, 2]


def test_files_of_a_quick_writer_are_not_looked_for(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicts, "map_in_threads", lambda *_: pytest.fail("looked"))
    commits.append(again(table), written(again(table), (2, "b", "x")))
    assert sorted(row[0] for row in rows(table)) == [1, 2]

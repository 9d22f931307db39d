"""A table is rolled back while another statement is at work with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from paimon_sql.errors import CommitConflictError, CommitUnknownError, NoSuchSnapshotError, PaimonError
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.snapshots import rollback as rolling
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.operations import purge as purging
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.retention.tags import is_guard
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage import small_tables as small


def _insert_planned(table: Table, row: small.Row) -> tuple[list[object], object]:
    now = small.fresh(table)
    task = plan_write(now)
    return list(task.run([small.batch_of(now, [row])])), task


def _shown(table: Table) -> list[small.Row]:
    now = small.fresh(table)
    latest = now.snapshots.latest()
    assert latest is not None
    return small.rows_at(now, latest)


def test_rows_that_were_planned_on_a_dropped_snapshot_are_not_taken_for_older_ones(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t", primary_keys=["id"])
    for value in ("a", "b", "c"):
        small.insert(table, (1, value, "x"))
    small.overwrite(table, (2, "other", "x"))
    messages, task = _insert_planned(table, (1, "new", "x"))
    rollback_to_snapshot(small.fresh(table), 3)
    now = small.fresh(table)
    with pytest.raises(CommitConflictError, match="rolled back"):
        commits.append(now, messages, task.validations(messages))  # type: ignore[arg-type,attr-defined]
    assert _shown(table) == [(1, "c", "x")]


def test_rows_that_were_planned_on_a_snapshot_in_whose_place_another_stands_are_refused(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t", primary_keys=["id"])
    small.insert(table, (1, "a", "x"))
    small.overwrite(table, (2, "other", "x"))
    messages, task = _insert_planned(table, (1, "new", "x"))
    rollback_to_snapshot(small.fresh(table), 1)
    for value in ("b", "c"):
        small.insert(small.fresh(table), (1, value, "x"))
    with pytest.raises(CommitConflictError, match="rolled back"):
        commits.append(small.fresh(table), messages, task.validations(messages))  # type: ignore[arg-type,attr-defined]


def test_rows_whose_base_has_expired_are_committed(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t", primary_keys=["id"])
    small.insert(table, (1, "a", "x"))
    messages, task = _insert_planned(table, (1, "new", "x"))
    small.insert(table, (2, "b", "x"))
    Path(table.snapshots.directory.path(1)).unlink()
    commits.append(small.fresh(table), messages, task.validations(messages))  # type: ignore[arg-type,attr-defined]
    assert _shown(table) == [(1, "new", "x"), (2, "b", "x")]


def _filled(path: Path) -> Table:
    table = small.make_table(path)
    for number in range(3):
        small.insert(table, (number, "v", "x"))
    return table


@pytest.mark.parametrize("moment", ["_files", "_forget_holders", "_check_stands"])
def test_a_rollback_during_a_purge_leaves_a_table_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    table = _filled(tmp_path / "t")
    step = getattr(purging, moment)
    ends: list[PaimonError | None] = []

    def rolled_back(*given: object) -> object:
        if not ends and (moment != "_files" or len(given) == 2):
            ends.append(_outcome(lambda: rollback_to_snapshot(small.fresh(table), 2)))
        return step(*given)

    monkeypatch.setattr(purging, moment, rolled_back)
    purged = _outcome(lambda: purge(small.fresh(table)))
    assert ends and [ends[0], purged].count(None) == 1
    assert _shown(table) == ([] if purged is None else [(0, "v", "x"), (1, "v", "x")])


def test_a_purge_during_a_rollback_leaves_a_table_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _filled(tmp_path / "t")
    create_tag(table, "two", 2)
    step = rolling._drop_later
    ends: list[PaimonError | None] = []

    def purged(*given: object) -> object:
        ends.append(_outcome(lambda: purge(small.fresh(table))))
        return step(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rolling, "_drop_later", purged)
    rollback_to_snapshot(small.fresh(table), 2)
    assert isinstance(ends[0], CommitConflictError)
    assert _shown(table) == [(0, "v", "x"), (1, "v", "x")]
    assert not any(map(is_guard, table.tags.names()))


@pytest.mark.parametrize("target", [1, 3])
def test_what_is_committed_behind_the_mark_of_a_rollback_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: int
) -> None:
    table = _filled(tmp_path / "t")
    step, known = rolling.overtaken, _shown(table)[:target]

    def meanwhile(*given: object) -> object:
        now = small.fresh(table)
        if not now.snapshots.late_snapshots():  # writers wait until these have gone
            for k in (10, 11):
                small.insert(small.fresh(table), (k, "v", "x"))
        return step(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rolling, "overtaken", meanwhile)
    rollback_to_snapshot(small.fresh(table), target)
    monkeypatch.undo()
    added = [row for row in _shown(table) if row[0] >= 10]
    assert added and _shown(table) == [*known, *added]
    ids = small.fresh(table).snapshots.directory.versions()
    assert ids == list(range(1, len(ids) + 1))
    small.insert(small.fresh(table), (12, "v", "x"))
    assert _shown(table) == [*known, *added, (12, "v", "x")]


def test_a_rollback_holds_its_snapshot_though_another_one_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _filled(tmp_path / "t")
    step, waiting = rolling.restore_snapshot, [True]

    def slow(*given: object, **named: object) -> object:
        if waiting:
            waiting.clear()
            rollback_to_snapshot(small.fresh(table), 1)
            small.insert(small.fresh(table), (9, "v", "x"))
            expire_snapshots(small.fresh(table), Retention(1, 1, 2**62, 9))
        return step(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(rolling, "restore_snapshot", slow)
    rollback_to_snapshot(small.fresh(table), 1)
    assert _shown(table) == [(0, "v", "x")]


@pytest.mark.parametrize("writes", [False, True])
def test_a_rollback_does_not_go_to_what_another_one_takes_out_of_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    table = _filled(tmp_path / "t")
    step = rolling.mark_rollback

    def slow(*given: object) -> object:
        monkeypatch.setattr(rolling, "mark_rollback", step)
        with suppress(PaimonError):  # whoever is second finds what the first one holds
            rollback_to_snapshot(small.fresh(table), 1)
        if writes:
            small.insert(small.fresh(table), (9, "v", "x"))
        return step(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rolling, "mark_rollback", slow)
    ended = _outcome(lambda: rollback_to_snapshot(small.fresh(table), 2))
    assert ended is not None and "another job concurrently rolled back to snapshot 1" in str(ended)
    assert _shown(table) == [(0, "v", "x"), *([(9, "v", "x")] if writes else [])]
    small.insert(small.fresh(table), (10, "v", "x"))
    assert (10, "v", "x") in _shown(table)


def _outcome(statement: object) -> PaimonError | None:
    try:
        statement()  # type: ignore[operator]
    except (CommitConflictError, CommitUnknownError, NoSuchSnapshotError) as error:
        return error
    return None


class _Unreachable(LocalFileIO):
    """A file system that fails at one snapshot: its file is not created, and nothing tells what is the newest."""

    failing = False

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        if path.endswith("/snapshot-2"):
            self.failing = True
            raise PaimonError(f"Cannot create {path}.")
        return super().try_create_exclusive(path, data, locked=locked)

    def exists(self, path: str) -> bool:
        if self.failing and path.endswith("/snapshot-2"):
            self.failing = False
            raise PaimonError(f"Cannot look at {path}.")
        return super().exists(path)


def test_a_commit_whose_snapshot_was_not_created_is_not_acknowledged(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t", file_io=_Unreachable())
    small.insert(table, (1, "a", "x"))
    with pytest.raises(PaimonError):
        small.insert(table, (2, "b", "x"))
    assert _shown(table) == [(1, "a", "x")]


class _Interrupted(LocalFileIO):
    """A file system in which the table is rolled back right before a snapshot is created, and Ctrl-C comes behind."""

    table: Table
    is_over = False

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        if self.is_over or not path.endswith("/snapshot-4"):
            return super().try_create_exclusive(path, data, locked=locked)
        self.is_over = True
        rollback_to_snapshot(small.fresh(self.table), 1)
        super().try_create_exclusive(path, data, locked=locked)
        raise KeyboardInterrupt


def test_an_interrupt_leaves_no_snapshot_that_came_behind_a_rollback(tmp_path: Path) -> None:
    file_io = _Interrupted()
    table = small.make_table(tmp_path / "t", file_io=file_io)
    file_io.table = table
    for number in range(3):
        small.insert(table, (number, "v", "x"))
    with pytest.raises(KeyboardInterrupt):
        small.insert(table, (3, "v", "x"))
    for number in range(10, 15):
        small.insert(small.fresh(table), (number, "v", "x"))
    assert [id_ for id_, *_ in _shown(table)] == [0, *range(10, 15)]


def test_a_snapshot_behind_a_gap_is_not_taken_for_the_newest_one(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t")
    for number in range(9):
        small.insert(table, (number, "v", "x"))
    stray = Path(table.snapshots.directory.path(9))
    content = stray.read_bytes()
    rollback_to_snapshot(small.fresh(table), 1)
    stray.write_bytes(content)  # its writer was killed before it could look whether the history still led there
    for number in range(10, 13):
        small.insert(small.fresh(table), (number, "v", "x"))
    hint = Path(table.snapshots.directory.directory, "LATEST")
    hint.write_text("3")  # as a writer leaves it that is killed behind its commit, or has not come so far
    assert [id_ for id_, *_ in _shown(table)] == [0, 10, 11, 12]

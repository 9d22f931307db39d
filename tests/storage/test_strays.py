"""Snapshots of writers that a rollback has overtaken: nobody builds upon them, whether their writer lives or not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import (
    CommitConflictError,
    CommitUnknownError,
    NoSuchTableError,
    PaimonError,
)
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.commit.snapshot import snapshot_commit
from paimon_sql.storage.commit.snapshot.manifests import Attempt
from paimon_sql.storage.commit.snapshot.snapshot_commit import Created, RenamingSnapshotCommit, standing_of
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.snapshots import rollback
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.directories import drop_directory
from paimon_sql.storage.metadata.numbered_files import LATEST
from paimon_sql.storage.metadata.snapshots import GENERATION, Rollback, RollbackMark, SnapshotManager
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.repair import repair as repairs
from paimon_sql.storage.repair.repair import repair
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage.core_tables import again, insert, make_table, rows
from tests.storage.faulty_io import Died
from tests.storage.small_tables import on_disk, reachable

QUICK = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "5 ms", "commit.max-retries": "3"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = make_table(tmp_path / "t", QUICK)
    for key in (1, 2, 3):
        insert(made, (key, "v", "x"))
        if key == 1:
            create_tag(again(made), "one")
            create_branch(again(made), "dev", tag="one")
    return made


def keys(table: Table) -> list[int]:
    return sorted(row[0] for row in rows(table))


@contextmanager
def stands_still(before: Callable[[], object], behind: Callable[[], object]) -> Iterator[None]:
    """Let something happen before the next snapshot's file is created, and before its writer looks at it again."""
    created, look = RenamingSnapshotCommit._created, standing_of
    early, late = [before], list[Callable[[], object]]()

    def create(self: RenamingSnapshotCommit, snapshot: Snapshot, *, locked: bool) -> Created:
        if early:
            early.pop()()
            late.append(behind)
        return created(self, snapshot, locked=locked)

    def looks(*given: Any, **named: Any) -> Any:
        if late:
            late.pop()()
        return look(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RenamingSnapshotCommit, "_created", create)
        patch.setattr(snapshot_commit, "standing_of", looks)
        yield


def back_to_one(table: Table) -> None:
    rollback_to_snapshot(again(table), 1)


def forward_to_branch(table: Table) -> None:
    fast_forward(again(table), "dev")


GOES_BACK = pytest.mark.parametrize("goes_back", [back_to_one, forward_to_branch])


@GOES_BACK
def test_nobody_builds_on_a_snapshot_whose_writer_was_overtaken(
    table: Table, goes_back: Callable[[Table], None]
) -> None:
    def before() -> None:
        goes_back(table)
        insert(table, (20, "new", "x"))
        insert(table, (30, "new", "x"))

    def behind() -> None:
        assert again(table).snapshots.directory.versions() == [1, 2, 3, 4]
        assert keys(table) == [1, 20, 30]
        with pytest.raises(CommitConflictError, match="snapshot 4 blocks the commit"):
            insert(table, (40, "third", "x"))

    with stands_still(before, behind):
        assert insert(table, (99, "late", "x")).id == 4
    insert(table, (50, "next", "x"))
    assert keys(table) == [1, 20, 30, 50, 99]
    assert reachable(table) <= on_disk(table)


@GOES_BACK
def test_what_a_dead_writer_left_is_no_part_of_the_history_and_is_repaired(
    table: Table, goes_back: Callable[[Table], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "_PATIENCE", 0.0)

    def before() -> None:
        goes_back(table)
        insert(table, (20, "new", "x"))
        insert(table, (30, "new", "x"))

    def dies() -> None:
        raise Died

    with stands_still(before, dies), monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(RenamingSnapshotCommit, "_withdraw_if_overtaken", lambda *_: None)  # no time for that
        insert(table, (99, "late", "x"))
    assert keys(table) == [1, 20, 30]
    with pytest.raises(CommitConflictError, match=r"CALL sys\.repair"):
        insert(table, (40, "third", "x"))
    assert "snapshot 4" in repair(again(table), dry_run=True).repaired[0]
    assert again(table).snapshots.directory.exists(4)
    assert "snapshot 4" in repair(again(table)).repaired[0]
    assert insert(table, (40, "third", "x")).id == 4
    assert keys(table) == [1, 20, 30, 40]


@pytest.mark.parametrize("at", [1, 2])
def test_a_rollback_between_two_looks_of_a_writer_is_noticed(
    table: Table, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    latest, look = SnapshotManager.latest, standing_of
    looks, is_writer = [0], [True]

    def newest(self: SnapshotManager) -> Snapshot | None:
        found = latest(self)
        if is_writer[0]:
            looks[0] += 1
            if looks[0] == at:
                is_writer[0] = False
                back_to_one(table)
                insert(table, (20, "new", "x"))
                insert(table, (30, "new", "x"))
                is_writer[0] = True
        return found

    def dies(*given: Any, **named: Any) -> Any:
        if is_writer[0]:
            raise Died
        return look(*given, **named)

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(RenamingSnapshotCommit, "_withdraw_if_overtaken", lambda *_: None)
        patch.setattr(SnapshotManager, "latest", newest)
        patch.setattr(snapshot_commit, "standing_of", dies)
        insert(table, (99, "late", "x"))
    assert looks[0] >= at
    assert keys(table) in ([1, 20, 30], [1, 20, 30, 99])


def test_a_stray_behind_a_gap_is_met_when_the_history_comes_there(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "_PATIENCE", 0.0)

    def dies() -> None:
        raise Died

    with stands_still(lambda: back_to_one(table), dies), monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(RenamingSnapshotCommit, "_withdraw_if_overtaken", lambda *_: None)
        insert(table, (99, "late", "x"))
    insert(table, (20, "new", "x"))
    with pytest.raises(CommitConflictError, match="snapshot 4 blocks the commit"):
        insert(table, (30, "new", "x"))
        insert(table, (31, "new", "x"))
    repair(again(table))
    insert(table, (40, "new", "x"))
    assert set(keys(table)) - {30, 31} == {1, 20, 40} and 99 not in keys(table)


def test_snapshots_say_their_generation_only_where_it_tells_something(table: Table) -> None:
    back_to_one(table)
    for key in range(10, 15):
        insert(table, (key, "new", "x"))
    said = [(s.properties or {}).get(GENERATION) for s in again(table).snapshots.all()]
    assert said == [None, "1", "1", "1", None, None]
    rollback_to_snapshot(again(table), 3)
    insert(table, (20, "new", "x"))
    latest = again(table).snapshots.latest()
    assert latest is not None and latest.id == 4 and (latest.properties or {})[GENERATION] == "2"
    assert keys(table) == [1, 10, 11, 20]


def test_snapshots_of_other_engines_behind_a_rollback_are_believed(table: Table) -> None:
    back_to_one(table)
    insert(table, (20, "new", "x"))
    path = Path(table.path) / "snapshot" / "snapshot-2"
    text = path.read_text().replace('"paimon-sql"', '"1.4.2"').replace(f'"{GENERATION}"', '"other"')
    assert '"1.4.2"' in text
    path.write_text(text)
    assert keys(table) == [1, 20]
    insert(table, (30, "new", "x"))
    assert keys(table) == [1, 20, 30]


def forward_as_java_does(table: Table) -> None:
    """Let the table become its branch ``dev`` as other engines do it: without a mark, file by file."""
    own, branch = Path(table.path) / "snapshot", Path(table.path) / "branch" / "branch-dev" / "snapshot"
    for file in (*own.glob("snapshot-*"), own / LATEST):
        file.unlink(missing_ok=True)
    for file in branch.iterdir():
        shutil.copyfile(file, own / file.name)


def test_snapshots_of_a_branch_that_another_engine_brings_are_believed(table: Table) -> None:
    dev = branch_of(again(table), "dev")
    for key in (10, 11):
        insert(dev, (key, "branch", "x"))
    back_to_one(table)
    insert(table, (20, "new", "x"))
    forward_as_java_does(table)
    assert keys(table) == [1, 10, 11]
    assert insert(table, (30, "new", "x")).id == 4
    assert keys(table) == [1, 10, 11, 30]
    rollback_to_snapshot(again(table), 2)
    assert again(table).snapshots.directory.versions() == [1, 2]
    insert(table, (40, "new", "x"))
    assert keys(table) == [1, 10, 40]


def test_a_snapshot_that_a_fast_forward_brings_too_late_is_a_stray(table: Table) -> None:
    insert(branch_of(again(table), "dev"), (10, "branch", "x"))
    forward_to_branch(table)
    (_, brought) = again(table).snapshots.all()
    assert set(brought.properties or {}) == {GENERATION}
    path = Path(table.path) / "snapshot" / "snapshot-2"
    data = path.read_bytes()
    back_to_one(table)
    path.write_bytes(data)
    assert keys(table) == [1]


@pytest.mark.parametrize("fails", [False, True])
def test_a_branch_of_a_snapshot_that_was_dropped_before_its_writer_looked_keeps_its_files(
    table: Table, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Snapshot:
        raise PaimonError("the disk is full")

    def behind() -> None:
        insert(table, (5, "v", "x"))
        create_branch(again(table), "late", snapshot_id=5)
        back_to_one(table)
        if fails:
            monkeypatch.setattr(Attempt, "prepare", fail)

    with stands_still(lambda: None, behind), suppress(PaimonError):
        insert(table, (99, "late", "x"))
    assert keys(branch_of(again(table), "late")) == [1, 2, 3, 5, 99]


def test_a_hint_names_no_stray(table: Table) -> None:
    def before() -> None:
        back_to_one(table)
        insert(table, (20, "new", "x"))
        insert(table, (30, "new", "x"))

    def behind() -> None:
        directory = again(table).snapshots.directory
        assert directory.exists(4)
        directory.delete_hint(LATEST)
        directory.settle_latest()
        assert directory.hint(LATEST) == 3

    with stands_still(before, behind):
        insert(table, (99, "late", "x"))


def test_a_table_is_not_empty_while_a_rollback_brings_its_target_back(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = rollback.drop_newest_first

    def taken_by_an_expiry(stale: Table, ids: Mapping[int, bytes]) -> int:
        again(table).snapshots.directory.file_io.delete(table.snapshots.directory.path(1))
        assert keys(table) == [1]
        with pytest.raises(CommitConflictError):
            insert(table, (99, "new", "x"))
        dropped = drop(stale, ids)
        assert keys(table) == [1]
        return dropped

    monkeypatch.setattr(rollback, "drop_newest_first", taken_by_an_expiry)
    rollback_to_snapshot(again(table), 1)
    assert keys(table) == [1]
    insert(table, (20, "new", "x"))
    assert keys(table) == [1, 20]


@pytest.mark.parametrize("by_repair", [False, True])
def test_a_mark_that_arrives_late_finds_its_snapshot_held(
    table: Table, by_repair: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "_PATIENCE", 0.0)
    written, late = RollbackMark.write, list[Callable[[], object]]()

    def lost(self: RollbackMark, target: Snapshot | None, until: int) -> Rollback:
        late.append(lambda: written(self, target, until))
        raise PaimonError("the connection was reset")

    with monkeypatch.context() as patch, pytest.raises(CommitUnknownError):
        patch.setattr(RollbackMark, "write", lost)
        rollback_to_snapshot(again(table), 2)
    expire_snapshots(again(table), Retention(1, 1, 2**62, 9))
    assert keys(table) == [1, 2, 3]
    late[0]()
    assert keys(table) == [1, 2]
    if by_repair:
        assert "snapshot 2, the target of a rollback" in repair(again(table)).repaired[0]
        assert again(table).snapshots.exists(2)
    else:
        rollback_to_snapshot(again(table), 2)
    insert(table, (20, "new", "x"))
    assert keys(table) == [1, 2, 20]


@pytest.mark.parametrize("made_anew", [False, True])
@pytest.mark.parametrize("at", ["snapshot-1", "REWIND", "snapshot-3"])
def test_a_rollback_leaves_nothing_where_its_table_was_dropped(
    table: Table, tmp_path: Path, at: str, made_anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expire_snapshots(again(table), Retention(2, 1, 2**62, 9))
    name = {"snapshot-1": "try_create_exclusive", "REWIND": "replace_if", "snapshot-3": "delete_if"}[at]
    original, waiting, made = getattr(LocalFileIO, name), [True], list[Table]()

    def meanwhile() -> None:
        drop_directory(LocalFileIO(), table.path)
        if made_anew:
            made.append(make_table(tmp_path / "t", QUICK, partitions=["p"]))
            for key in range(10, 15):
                insert(made[0], (key, "new", "x"))

    def late(self: LocalFileIO, path: str, *given: Any, **named: Any) -> Any:
        is_here = waiting and path.endswith(at)
        if is_here:
            waiting.clear()
        if is_here and at != "snapshot-3":
            meanwhile()
        answer = original(self, path, *given, **named)
        if is_here and at == "snapshot-3":  # before it looks at the next one
            meanwhile()
        return answer

    with monkeypatch.context() as patch, pytest.raises((NoSuchTableError, CommitUnknownError)):
        patch.setattr(LocalFileIO, name, late)
        rollback_to_tag(again(table), "one")
    if made_anew:
        assert keys(made[0]) == [10, 11, 12, 13, 14]
    else:
        assert not (Path(table.path) / "snapshot").exists()

"""Writers that stand still before they create their snapshot: what was acknowledged stays readable, whatever passed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import CommitConflictError, CommitUnknownError, NoSuchTableError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.branches.management import create_branch, delete_branches
from paimon_sql.storage.commit.snapshot.snapshot_commit import Created, Published, RenamingSnapshotCommit
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO, local
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans
from paimon_sql.storage.maintenance.snapshots import expiration, rollback
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST, NumberedDirectory
from paimon_sql.storage.metadata.snapshots import SnapshotManager
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.retention import files_to_delete
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import again, compact, insert, make_table, overwrite, rows, written
from tests.storage.small_tables import on_disk, reachable

NO_WAIT = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms", "write-only": "true"}
LATE = (99, "late", "x")


@contextmanager
def stalled(meanwhile: Callable[[], object]) -> Iterator[None]:
    """Let something happen right before the next snapshot's file is created."""
    created, waiting = RenamingSnapshotCommit._created, [meanwhile]

    def late(self: RenamingSnapshotCommit, snapshot: Snapshot, *, locked: bool) -> Created:
        if waiting:
            waiting.pop()()
        return created(self, snapshot, locked=locked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RenamingSnapshotCommit, "_created", late)
        yield


@contextmanager
def stalled_twice(before: Callable[[], object], behind: Callable[[], object]) -> Iterator[None]:
    """Let things happen right before the next snapshot's file is created, and before its writer looks at it."""
    looked, waiting = RenamingSnapshotCommit._looked_after, list[Callable[[], object]]()

    def first() -> None:
        before()
        waiting.append(behind)

    def late(self: RenamingSnapshotCommit, *given: Any) -> Published:
        if waiting:
            waiting.pop()()
        return looked(self, *given)

    with stalled(first), pytest.MonkeyPatch.context() as patch:
        patch.setattr(RenamingSnapshotCommit, "_looked_after", late)
        yield


def expire(table: Table, keep: int = 1) -> None:
    expire_snapshots(again(table), Retention(keep, keep, 2**62, 10**6))


def hints(table: Table) -> tuple[int | None, int | None]:
    directory = again(table).snapshots.directory
    return directory.hint(EARLIEST), directory.hint(LATEST)


def ids(table: Table) -> list[int]:
    return again(table).snapshots.directory.versions()


def keys(table: Table) -> list[int]:
    return sorted(row[0] for row in rows(table))


def check_whole(table: Table) -> None:
    """History is linear, hints are right and no file is missing."""
    found = ids(table)
    assert found == list(range(found[0], found[-1] + 1))
    earliest, latest = hints(table)
    assert latest == found[-1] and earliest in found
    assert reachable(table) <= on_disk(table)


@pytest.mark.parametrize("keep", [1, 2, 3])
@pytest.mark.parametrize("rivals", [1, 2, 4])
def test_a_writer_stalled_past_retention_commits_on_the_newest_snapshot(tmp_path: Path, keep: int, rivals: int) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))

    def meanwhile() -> None:
        for number in range(3, 3 + rivals):
            insert(table, (number, "rival", "x"))
        expire(table, keep)

    with stalled(meanwhile):
        made = insert(table, LATE)
    assert made.id == 3 + rivals
    assert keys(table) == [*range(1, 3 + rivals), 99]
    check_whole(table)
    for number in range(100, 104):
        insert(table, (number, "later", "x"))
        expire(table)
        check_whole(table)
    assert keys(table) == [*range(1, 3 + rivals), 99, 100, 101, 102, 103]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("changelog", ["none", "input"])
def test_an_expiry_leaves_the_files_of_a_snapshot_that_came_too_late(
    tmp_path: Path, changelog: str, keeps: bool
) -> None:
    more = {"changelog.num-retained.max": "100"} if keeps else {}
    options = {**NO_WAIT, "bucket": "1", "changelog-producer": changelog, **more}
    table = make_table(tmp_path / "t", options, keys=["id"])
    insert(table, (1, "a", "x"))

    def before() -> None:
        for number in range(2, 5):
            insert(table, (number, "rival", "x"))
        expire(table)
        assert ids(table) == [4]

    def behind() -> None:
        insert(table, (5, "rival", "x"))
        expire(table)
        assert ids(table) == [2, 5]

    with stalled_twice(before, behind):
        made = insert(table, LATE)
    assert (made.id, ids(table)) == (6, [5, 6])
    assert keys(table) == [1, 2, 3, 4, 5, 99]
    check_whole(table)


def test_the_late_snapshot_of_a_dead_writer_expires_after_a_day(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "a", "x"))

    def before() -> None:
        for number in range(2, 5):
            insert(table, (number, "rival", "x"))
        expire(table)

    def die() -> None:
        raise SystemExit

    with (
        pytest.raises(SystemExit),
        stalled_twice(before, die),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(RenamingSnapshotCommit, "_withdraw_if_overtaken", lambda *_: None)
        insert(table, LATE)
    expire(table)
    assert ids(table) == [2, 4]
    assert keys(table) == [1, 2, 3, 4]
    yesterday = time.time() - 25 * 60 * 60
    os.utime(table.snapshots.directory.path(2), (yesterday, yesterday))
    expire(table)
    assert ids(table) == [4]
    assert keys(table) == [1, 2, 3, 4]
    check_whole(table)


def test_a_writer_stalled_past_a_compaction_and_retention_is_not_lost(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**NO_WAIT, "bucket": "1"}, keys=["id"])
    insert(table, (1, "a", "x"))

    def meanwhile() -> None:
        insert(table, (2, "rival", "x"))
        compact(table)
        expire(table)

    with stalled(meanwhile):
        insert(table, LATE)
    assert keys(table) == [1, 2, 99]
    check_whole(table)


def test_the_first_commit_stalled_past_retention_is_not_lost(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)

    def meanwhile() -> None:
        for number in range(1, 5):
            insert(table, (number, "rival", "x"))
        expire(table)

    with stalled(meanwhile):
        assert insert(table, LATE).id == 5
    assert keys(table) == [1, 2, 3, 4, 99]
    check_whole(table)


@pytest.mark.parametrize("target", [1, 2, 3, 4])
def test_a_writer_stalled_past_a_rollback_brings_no_row_back(tmp_path: Path, target: int) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    for number in range(1, 5):
        insert(table, (number, "v", "x"))
    with stalled(lambda: rollback_to_snapshot(again(table), target)):
        made = insert(table, LATE)
    assert made.id == target + 1
    assert keys(table) == [*range(1, target + 1), 99]
    check_whole(table)
    find_orphans(again(table), Search(2**62, LocalExecutor()))


@pytest.mark.parametrize("grown", [1, 2, 3])
def test_a_writer_stalled_past_a_rollback_and_other_commits_builds_on_them(tmp_path: Path, grown: int) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    for number in range(1, 4):
        insert(table, (number, "v", "x"))

    def meanwhile() -> None:
        rollback_to_snapshot(again(table), 1)
        for number in range(10, 10 + grown):
            insert(table, (number, "new", "x"))

    with stalled(meanwhile):
        insert(table, LATE)
    assert keys(table) == [1, *range(10, 10 + grown), 99]
    check_whole(table)


def test_a_writer_stalled_past_a_rollback_to_an_expired_snapshot_builds_on_it(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    create_tag(again(table), "first")
    for number in range(2, 5):
        insert(table, (number, "v", "x"))
    expire(table)
    with stalled(lambda: rollback_to_snapshot(again(table), 1)):
        insert(table, LATE)
    assert keys(table) == [1, 99]
    check_whole(table)


def test_an_expiry_stalled_past_a_rollback_leaves_what_has_its_numbers_now(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    create_tag(again(table), "first")
    for number in range(2, 5):
        insert(table, (number, "v", "x"))
    remove, waiting = SnapshotManager.remove, [2]

    def late(self: SnapshotManager, snapshot: Snapshot, **given: Any) -> bool:
        if [snapshot.id] == waiting:
            waiting.clear()
            expire(table)
            rollback_to_snapshot(again(table), 1)
            for number in range(20, 25):
                insert(table, (number, "new", "x"))
        return remove(self, snapshot, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SnapshotManager, "remove", late)
        expire(table)
    assert not waiting
    assert keys(table) == [1, 20, 21, 22, 23, 24]
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    check_whole(table)


def test_an_expiry_stalled_at_its_last_look_holds_a_rollback_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_LONGEST_HELD", 0.05)
    table = make_table(tmp_path / "t", NO_WAIT)
    for number in range(1, 5):
        insert(table, (number, "v", "x"))
        create_tag(again(table), f"t{number}")
    looked, refused = expiration._went_back, list[str]()

    def late(*given: Any) -> bool:
        answer = looked(*given)
        if not refused:
            with pytest.raises(CommitConflictError, match="another process has started to delete it") as caught:
                rollback_to_snapshot(again(table), 1)
            refused.append(str(caught.value))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expiration, "_went_back", late)
        expire(table)
    assert refused and keys(table) == [1, 2, 3, 4]
    rollback_to_snapshot(again(table), 1)
    assert keys(table) == [1]


def test_a_commit_that_a_rollback_took_away_is_not_refused_as_if_it_had_never_been(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**NO_WAIT, "bucket": "1"}, keys=["id"])
    for number in range(1, 4):
        insert(table, (number, "v", "x"))

    def taken_away() -> None:
        create_tag(again(table), "meanwhile")
        create_branch(again(table), "b", tag="meanwhile")
        rollback_to_snapshot(again(table), 1)

    with stalled_twice(lambda: None, taken_away), pytest.raises(CommitUnknownError, match="snapshot 4 was committed"):
        compact(table)
    assert keys(table) == [1]
    branch = Table(table.name, table.path, table.file_io, table.schema, "b")
    assert keys(branch) == [1, 2, 3]


def test_a_commit_that_expired_before_a_rollback_took_it_away_is_not_repeated_without_its_files(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    create_tag(again(table), "first")

    def expired_and_taken_away() -> None:
        overwrite(table, (3, "v", "x"))
        insert(table, (4, "v", "x"))
        expire(table)
        rollback_to_snapshot(again(table), 1)

    with (
        stalled_twice(lambda: None, expired_and_taken_away),
        pytest.raises(CommitUnknownError, match="whether snapshot 2 was part of the history is unknown"),
    ):
        insert(table, LATE)
    assert keys(table) == [1]
    check_whole(table)
    insert(table, LATE)
    assert keys(table) == [1, 99]


def test_a_commit_that_a_branch_has_replaced_and_expired_is_not_repeated_without_its_files(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))

    def expired_on_a_branch() -> None:
        create_tag(again(table), "both")
        create_branch(again(table), "b", tag="both")
        branch = Table(table.name, table.path, table.file_io, table.schema, "b")
        delete_tags(branch, ["both"])
        overwrite(branch, (3, "v", "x"))
        insert(branch, (4, "v", "x"))
        delete_tags(again(table), ["both"])
        rollback_to_snapshot(again(table), 1)
        expire(branch)

    with (
        stalled_twice(lambda: None, expired_on_a_branch),
        pytest.raises(CommitUnknownError, match="whether snapshot 2 was part of the history is unknown"),
    ):
        insert(table, LATE)
    assert keys(table) == [1]
    check_whole(table)


def test_a_commit_that_a_rollback_took_away_is_repeated_while_nothing_has_expired(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))

    def taken_away() -> None:
        overwrite(table, (3, "v", "x"))
        rollback_to_snapshot(again(table), 1)

    with stalled_twice(lambda: None, taken_away):
        insert(table, LATE)
    assert keys(table) == [1, 99]
    check_whole(table)


def test_an_expiry_stalled_past_a_rollback_deletes_nothing_of_what_has_its_numbers_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    create_tag(again(table), "first")
    insert(table, (2, "v", "x"))
    overwrite(table, (3, "v", "x"))
    insert(table, (4, "v", "x"))
    planned, before = files_to_delete.plan_expiry, on_disk(table)

    def late(*given: Any, **named: Any) -> Any:
        plan = planned(*given, **named)
        monkeypatch.undo()
        rollback_to_snapshot(again(table), 1)
        for number in range(20, 25):
            insert(table, (number, "new", "x"))
        return plan

    monkeypatch.setattr(files_to_delete, "plan_expiry", late)
    expire(table)
    assert {path for path in before if "/data-" in path} <= on_disk(table)
    assert keys(table) == [1, 20, 21, 22, 23, 24]
    check_whole(table)


def test_an_expiry_leaves_the_target_of_a_rollback_that_died_behind_its_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    for number in range(1, 5):
        insert(table, (number, "v", "x"))
    planned = files_to_delete.plan_expiry

    def late(*given: Any, **named: Any) -> Any:
        plan = planned(*given, **named)
        monkeypatch.undo()
        with monkeypatch.context() as patch, pytest.raises((MemoryError, CommitUnknownError)):
            patch.setattr(rollback, "_drop_later", lambda *_: fail())
            patch.setattr(NumberedDirectory, "reset_hint", lambda *_: fail())
            rollback_to_snapshot(again(table), 2)
        return plan

    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(files_to_delete, "plan_expiry", late)
    expire(table)
    assert keys(table) == [1, 2]
    assert again(table).snapshots.exists(2)
    rollback_to_snapshot(again(table), 2)
    insert(table, (9, "new", "x"))
    assert keys(table) == [1, 2, 9]
    check_whole(table)


def test_a_writer_stalled_past_a_fast_forward_builds_on_the_branch(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    create_tag(again(table), "one")
    create_branch(again(table), "b", tag="one")
    for number in range(2, 4):
        insert(table, (number, "main", "x"))
    branch = Table(table.name, table.path, table.file_io, table.schema, "b")
    insert(branch, (50, "branch", "x"))
    with stalled(lambda: fast_forward(again(table), "b")):
        insert(table, LATE)
    assert keys(table) == [1, 50, 99]
    check_whole(table)


def test_a_writer_stalled_past_a_purge_commits_into_the_empty_table(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    for number in range(1, 4):
        insert(table, (number, "v", "x"))
    with stalled(lambda: purge(again(table))):
        insert(table, LATE)
    assert keys(table) == [99]
    check_whole(table)


def test_an_overwrite_stalled_past_retention_replaces_what_came_meanwhile(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))

    def meanwhile() -> None:
        for number in range(2, 5):
            insert(table, (number, "rival", "x"))
        expire(table)

    with stalled(meanwhile):
        overwrite(table, LATE)
    assert keys(table) == [99]
    check_whole(table)


def test_a_snapshot_built_upon_at_once_is_in_the_history(tmp_path: Path) -> None:
    """The writer stands still behind its creation: rivals build on its snapshot, and everything before expires."""
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    created, waiting = RenamingSnapshotCommit._created, [True]

    def slow(self: RenamingSnapshotCommit, snapshot: Snapshot, *, locked: bool) -> Created:
        done = created(self, snapshot, locked=locked)
        if waiting:
            waiting.clear()
            insert(table, (2, "rival", "x"))
            insert(table, (3, "rival", "x"))
            expire(table)
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RenamingSnapshotCommit, "_created", slow)
        assert insert(table, LATE).id == 2
    assert keys(table) == [1, 2, 3, 99]
    check_whole(table)


# ---- tables that go meanwhile ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_a_writer_whose_branch_was_made_anew_leaves_the_new_one_alone(tmp_path: Path, first: bool) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    create_branch(again(table), "b")
    branch = replace(table, branch="b")
    if not first:
        insert(branch, (1, "old", "x"))

    def meanwhile() -> None:
        delete_branches(again(table), ["b"])
        time.sleep(0.01)  # files tell milliseconds
        create_branch(again(table), "b")

    with stalled(meanwhile), pytest.raises(NoSuchTableError):
        insert(replace(table, branch="b"), LATE)
    assert ids(branch) == [] and keys(branch) == []
    insert(replace(table, branch="b"), (2, "new", "x"))
    assert keys(branch) == [2]


def test_a_writer_whose_table_is_dropped_commits_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    with stalled(lambda: LocalFileIO().delete_dir(table.path, recursive=True)), pytest.raises(NoSuchTableError):
        insert(table, LATE)
    assert not list((tmp_path / "t").rglob("snapshot-*"))


def test_a_writer_whose_table_was_made_anew_leaves_the_new_one_alone(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))
    messages = written(again(table), LATE)
    anew: list[Table] = []

    def meanwhile() -> None:
        LocalFileIO().delete_dir(table.path, recursive=True)
        anew.append(make_table(tmp_path / "t", NO_WAIT))

    with stalled(meanwhile), pytest.raises(NoSuchTableError, match="was dropped, renamed or replaced"):
        commits.append(again(table), messages)
    assert ids(anew[0]) == [] and rows(anew[0]) == []
    insert(anew[0], (7, "new", "x"))
    assert keys(anew[0]) == [7]


# ---- interrupts behind publication -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RuntimeError])
@pytest.mark.parametrize(
    "place",
    [
        "paimon_sql.storage.commit.snapshot.snapshot_commit.RenamingSnapshotCommit._looked_after",
        "paimon_sql.storage.commit.snapshot.snapshot_commit.RenamingSnapshotCommit._advance_hints",
        "paimon_sql.storage.commit.transaction.report_commit",
        "paimon_sql.storage.commit.transaction.register_commit",
        "paimon_sql.storage.operations.operations.after_commit",
        "paimon_sql.storage.operations.operations._end_of_batch",
    ],
)
def test_whatever_is_raised_behind_publication_deletes_no_file_of_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: type[BaseException]
) -> None:
    table = make_table(tmp_path / "t", NO_WAIT)
    insert(table, (1, "v", "x"))

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(place, fail)
        with pytest.raises((error, CommitUnknownError)):
            insert(table, LATE)
    assert keys(table) == [1, 99]
    assert reachable(table) <= on_disk(table)
    insert(table, (3, "v", "x"))
    assert keys(table) == [1, 3, 99]

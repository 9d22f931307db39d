"""Expiry interrupted anywhere, and rivals at any moment: nothing needed is lost, and a later run completes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import CommitConflictError, CommitUnknownError, NoSuchSnapshotError, PaimonError
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.file_io import FileStatus, LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot, rollback_to_tag
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, replace_tag
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.refs.tags import TagManager
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import retained_snapshot
from tests.selection import EVERY
from tests.storage.interrupted_io import Crash, InterruptedFileIO
from tests.storage.small_tables import fresh, insert, make_table, on_disk, overwrite, reachable, rows_at

DECOUPLED = {"changelog.num-retained.max": "100", "changelog.num-retained.min": "3", "changelog-producer": "input"}


def expire(table: Table, keep: int = 2) -> None:
    table = fresh(table)
    now = int(time.time() * 1000)
    expire_snapshots(table, retention_of(table.options, now, Limits(retain_max=keep, retain_min=keep)))


def history(path: Path, options: dict[str, str] | None = None) -> Table:
    table = make_table(path / "t", {"snapshot.num-retained.max": "50", **(options or {})})
    insert(table, (1, "v", "x"), changelog=True)
    insert(table, (2, "v", "x"), changelog=True)
    create_tag(table, "kept", 2)
    overwrite(table, (3, "w", "x"))
    overwrite(table, (4, "w", "x"))
    insert(table, (5, "w", "x"), changelog=True)
    return table


def copied(table: Table, path: Path, number: int, file_io: LocalFileIO) -> Table:
    target = path / f"copy-{number}"
    shutil.copytree(table.path, target)
    return replace(table, path=str(target), file_io=file_io)


def check_readable(table: Table) -> None:
    table = fresh(replace(table, file_io=LocalFileIO()))
    earliest = table.snapshots.earliest_id() or 0
    for snapshot in table.snapshots.all():
        if snapshot.id >= earliest:
            assert len(rows_at(table, snapshot)) == snapshot.total_record_count
    for tag in table.tags.all():
        assert len(rows_at(table, tag.snapshot)) == tag.snapshot.total_record_count
    assert reachable(table) <= on_disk(table)


@pytest.mark.parametrize("options", [{}, DECOUPLED], ids=["plain", "decoupled"])
def test_a_crash_at_any_point_leaves_a_table_that_a_later_run_cleans(tmp_path: Path, options: dict[str, str]) -> None:
    table = history(tmp_path, options)
    counting = InterruptedFileIO()
    expire(copied(table, tmp_path, -1, counting))
    assert counting.count > 12
    for at in range(0, counting.count, 2 if options else 1):
        crashed = copied(table, tmp_path, at, InterruptedFileIO(at))
        with pytest.raises(Crash):
            expire(crashed)
        check_readable(crashed)
        survivor = fresh(replace(crashed, file_io=LocalFileIO()))
        insert(survivor, (10, "later", "x"))
        expire(survivor)
        check_readable(survivor)
        assert on_disk(survivor) == reachable(survivor)
        assert fresh(survivor).snapshots.directory.versions() == [5, 6]
        kept = survivor.changelogs.ids()
        assert kept == (list(range(1, 5)) if options else [])
        shutil.rmtree(survivor.path)


def test_nobody_gets_at_a_snapshot_whose_expiry_was_interrupted(tmp_path: Path) -> None:
    table = history(tmp_path)
    crashed = replace(table, file_io=InterruptedFileIO(2))
    with pytest.raises(Crash):
        expire(crashed)
    table = fresh(table)
    assert table.snapshots.exists(1)
    with pytest.raises(NoSuchSnapshotError, match="retained are 4"):
        retained_snapshot(table, 1)
    with pytest.raises(NoSuchSnapshotError):
        create_tag(table, "late", 1)


def outcomes(
    table: Table, path: Path, step: Callable[[Table], None], other: Callable[[Table], None], *also: str
) -> int:
    """Let one action happen whole before every change and other operation of another; how many points there were."""
    counting = InterruptedFileIO(also=also)
    counted = copied(table, path, -1, counting)
    step(counted)
    shutil.rmtree(counted.path)
    # Where points are many, every second one is looked at.
    for at in range(0, counting.count, 1 if EVERY or counting.count < 40 else 2):
        plain = copied(table, path, at, LocalFileIO())
        rival = InterruptedFileIO(at, lambda: other(fresh(plain)), also=also)  # noqa: B023
        step(replace(plain, file_io=rival))
        assert reachable(fresh(plain)) <= on_disk(plain)
        assert fresh(plain).snapshots.latest() is not None
        shutil.rmtree(plain.path)
    return counting.count


def make_tag(table: Table) -> None:
    try:
        create_tag(table, "rival", 1)
    except NoSuchSnapshotError:
        assert not table.tags.exists("rival")


def move_tag(table: Table) -> None:
    try:
        replace_tag(table, "kept", 3)
    except NoSuchSnapshotError:
        assert table.tags.get("kept").snapshot.id == 2


def expire_if_quiet(table: Table) -> None:
    try:
        expire(table)
    except CommitConflictError:
        return


@pytest.mark.parametrize("change", [make_tag, move_tag])
def test_a_tag_made_at_any_moment_of_an_expiry_is_kept_or_refused(
    tmp_path: Path, change: Callable[[Table], None]
) -> None:
    assert outcomes(history(tmp_path), tmp_path, expire_if_quiet, change, "list") > 15


@pytest.mark.parametrize("change", [make_tag, move_tag])
def test_an_expiry_at_any_moment_of_making_a_tag_does_not_break_it(
    tmp_path: Path, change: Callable[[Table], None]
) -> None:
    assert outcomes(history(tmp_path), tmp_path, change, expire_if_quiet, "list", "read") > 4


def test_two_expiries_in_one_another_leave_what_stays(tmp_path: Path) -> None:
    table = history(tmp_path)
    assert outcomes(table, tmp_path, expire_if_quiet, lambda t: expire(t, 1)) > 10
    assert outcomes(table, tmp_path, lambda t: expire(t, 1), expire_if_quiet) > 10


@pytest.mark.parametrize("options", [{}, DECOUPLED], ids=["plain", "decoupled"])
def test_an_expiry_that_a_rival_overtakes_ends_without_a_complaint(tmp_path: Path, options: dict[str, str]) -> None:
    table = history(tmp_path, options)
    assert outcomes(table, tmp_path, lambda t: expire(t, 3), lambda t: expire(t, 2), "list", "read") > 30


def test_a_rollback_that_an_expiry_overtakes_is_refused_before_it_drops_anything(tmp_path: Path) -> None:
    table = history(tmp_path)
    assert outcomes(table, tmp_path, roll_back_if_there, lambda t: expire(t, 1), "list", "read") > 10
    assert outcomes(table, tmp_path, lambda t: expire(t, 1), roll_back_if_there, "list", "read") > 30


def roll_back_if_there(table: Table) -> None:
    """Goes back by one snapshot, which has perhaps expired, or is about to go; then nothing is dropped."""
    latest = table.snapshots.latest_id() or 0
    try:
        rollback_to_snapshot(table, 4)
    except (NoSuchSnapshotError, CommitConflictError):
        assert fresh(table).snapshots.latest_id() == latest
    else:
        assert fresh(table).snapshots.latest_id() == 4
    assert table.tags.names() == ["kept"]


def test_expiries_in_parallel_leave_nothing_over(tmp_path: Path) -> None:
    table = history(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda keep: expire(table, keep), [3, 2, 2, 3]))
    expire(table)
    check_readable(table)
    assert on_disk(table) == reachable(table)


def test_a_rollback_to_an_expired_tag_can_crash_anywhere(tmp_path: Path) -> None:
    table = history(tmp_path)
    expire(table)
    wanted = rows_at(table, table.tags.get("kept").snapshot)
    counting = InterruptedFileIO()
    rollback_to_tag(fresh(copied(table, tmp_path, -1, counting)), "kept")
    for at in range(counting.count):
        crashed = copied(table, tmp_path, at, InterruptedFileIO(at))
        with pytest.raises(Crash):
            rollback_to_tag(fresh(crashed), "kept")
        check_readable(crashed)
        survivor = fresh(replace(crashed, file_io=LocalFileIO()))
        assert rollback_to_tag(survivor, "kept").current == 2
        latest = fresh(survivor).snapshots.latest()
        assert latest is not None
        assert rows_at(survivor, latest) == wanted
        assert fresh(survivor).snapshots.directory.versions() == [2]
        insert(fresh(survivor), (50, "n", "x"))
        expire(survivor, 1)
        check_readable(survivor)


def make_branch(table: Table) -> None:
    create_branch(table, "rival", snapshot_id=3)


@pytest.mark.parametrize("make", [make_tag, make_branch])
def test_whoever_dies_while_making_a_tag_or_branch_leaves_none_that_cannot_be_read(
    tmp_path: Path, make: Callable[[Table], None]
) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO()
    make(fresh(copied(table, tmp_path, -1, counting)))
    for at in range(counting.count):
        crashed = copied(table, tmp_path, at, InterruptedFileIO(at))
        with pytest.raises(Crash):
            make(fresh(crashed))
        expire_and_check(crashed)


@pytest.mark.parametrize("manager", [TagManager, BranchManager])
@pytest.mark.parametrize("error", [Crash(), PaimonError("the connection was reset")], ids=["killed", "no answer"])
def test_a_tag_or_branch_that_comes_when_its_maker_has_given_up_can_be_read(
    tmp_path: Path, manager: type[TagManager | BranchManager], error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, make = history(tmp_path), make_tag if manager is TagManager else make_branch
    create, late = manager.create, list[Callable[[], object]]()
    monkeypatch.setattr(LocalFileIO, "failures_are_final", lambda self, path: False)

    def lost(self: Any, name: str, *given: Any) -> Any:
        if name != "rival":
            return create(self, name, *given)
        late.append(lambda: create(self, name, *given))
        raise error

    with monkeypatch.context() as patch, pytest.raises((Crash, CommitUnknownError)):
        patch.setattr(manager, "create", lost)
        make(fresh(table))
    expire_and_check(table)
    late[0]()
    assert fresh(table).tags.exists("rival") or fresh(table).branches.exists("rival")
    expire_and_check(table)


def expire_and_check(table: Table) -> None:
    """Only the newest snapshot stays, and whatever is left can be read."""
    table = fresh(replace(table, file_io=LocalFileIO()))
    expire(table, 1)
    check_readable(table)
    for name in table.branches.names():
        check_readable(fresh(replace(table, branch=name)))


def test_a_deleted_tag_can_crash_anywhere(tmp_path: Path) -> None:
    table = history(tmp_path)
    expire(table)
    counting = InterruptedFileIO()
    delete_tags(fresh(copied(table, tmp_path, -1, counting)), ["kept"])
    assert counting.count > 3
    for at in range(1, counting.count):
        crashed = copied(table, tmp_path, at, InterruptedFileIO(at))
        with pytest.raises(Crash):
            delete_tags(fresh(crashed), ["kept"])
        assert not fresh(crashed).tags.exists("kept")
        check_readable(crashed)


def test_a_hint_that_moves_between_two_looks_is_followed(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    for i in range(6):
        insert(table, (i, "v", "x"))

    class Slow(LocalFileIO):
        def status(self, path: str) -> FileStatus | None:
            directory = table.snapshots.directory
            if path == directory.path(1) and directory.exists(1):
                directory.reset_hint(EARLIEST, 5)
                directory.file_io.delete(path)
            return super().status(path)

    looking = fresh(replace(table, file_io=Slow()))
    assert table.snapshots.exists(2)
    assert looking.snapshots.earliest_id() == 5
    with pytest.raises(NoSuchSnapshotError):
        create_tag(looking, "late", 2)


class RefusingFileIO(InterruptedFileIO):
    """Refuses one operation, as a file system does that is overloaded."""

    def _crash(self) -> None:
        raise PaimonError("disk on fire")


def test_a_refusal_at_any_point_leaves_what_a_later_run_cleans(tmp_path: Path) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO()
    expire(copied(table, tmp_path, -1, counting))
    for at in range(0, counting.count, 3):
        refused = copied(table, tmp_path, at, RefusingFileIO(at))
        with pytest.raises(PaimonError, match="disk on fire"):
            expire(refused)
        check_readable(refused)
        survivor = fresh(replace(refused, file_io=LocalFileIO()))
        expire(survivor)
        assert on_disk(survivor) == reachable(survivor)

"""A table becomes what a branch is, whatever happens meanwhile."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import CommitConflictError, InvalidInputError, NotFoundError, PaimonError
from paimon_sql.format.schema.types import IntType
from paimon_sql.storage.branches.management import create_branch, delete_branches
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.operations.fast_forward import fast_forward
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.retention.tags import is_guard
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.table.table import Table
from tests.storage.folder_io import InterruptedFolders
from tests.storage.interrupted_io import Crash, InterruptedFileIO
from tests.storage.small_tables import fresh, insert, make_table, on_disk, overwrite, reachable, rows_at


def expire(table: Table, keep: int = 1) -> None:
    table = fresh(table)
    now = int(time.time() * 1000)
    expire_snapshots(table, retention_of(table.options, now, Limits(retain_max=keep, retain_min=keep)))


def history(path: Path) -> Table:
    """Main at 1, 2, 3; ``dev`` parted at 2 and is at 4; ``bare`` began empty and is at 2."""
    table = make_table(path / "t", {"snapshot.num-retained.max": "50"})
    insert(table, (1, "v", "x"))
    insert(table, (2, "v", "x"))
    create_tag(table, "base", 2)
    create_branch(table, "dev", tag="base")
    create_branch(table, "bare")
    overwrite(table, (3, "main", "x"))
    create_tag(table, "gone")
    dev, bare = branch_of(table, "dev"), branch_of(table, "bare")
    overwrite(dev, (10, "dev", "x"))
    insert(dev, (11, "dev", "x"))
    create_tag(dev, "new")
    insert(bare, (20, "bare", "x"))
    insert(bare, (21, "bare", "x"))
    return table


def newest_rows(table: Table) -> list[int]:
    table = fresh(table)
    schema = table.schemas.latest()
    assert schema is not None
    table = replace(table, schema=schema)
    latest = table.snapshots.latest()
    return [] if latest is None else [row[0] for row in rows_at(table, latest)]


def ids(table: Table) -> list[int]:
    return fresh(table).snapshots.directory.versions()


def copied(table: Table, path: Path, number: int, file_io: FileIO) -> Table:
    target = path / f"copy-{number}"
    shutil.copytree(table.path, target)
    return fresh(replace(table, path=str(target), file_io=file_io))


def check_whole(table: Table) -> None:
    for branch in (table, *(branch_of(table, n) for n in fresh(table).branches.names())):
        earliest = fresh(branch).snapshots.earliest_id() or 0
        for snapshot in fresh(branch).snapshots.all():
            if snapshot.id >= earliest:
                assert len(rows_at(branch, snapshot)) == snapshot.total_record_count
    assert reachable(fresh(table)) <= on_disk(table)


def test_what_came_after_the_parting_goes_and_the_branch_comes(tmp_path: Path) -> None:
    table = history(tmp_path)
    done = fast_forward(table, "dev")
    assert (done.previous, done.shared, done.current) == (3, 2, 4)
    assert (done.dropped, done.added, done.dropped_tags, done.added_tags) == ([3], [3, 4], ["gone"], ["new"])
    assert newest_rows(table) == [10, 11]
    assert (ids(table), fresh(table).tags.names()) == ([1, 2, 3, 4], ["base", "new"])
    assert newest_rows(branch_of(table, "dev")) == [10, 11]
    assert fast_forward(fresh(table), "dev").is_empty()
    insert(fresh(table), (12, "later", "x"))
    assert ids(branch_of(table, "dev")) == [2, 3, 4]
    expire(table)
    expire(branch_of(table, "dev"))
    check_whole(table)


def test_a_branch_that_began_empty_takes_the_place_of_all(tmp_path: Path) -> None:
    table = history(tmp_path)
    done = fast_forward(table, "bare")
    assert (done.previous, done.shared, done.current) == (3, 0, 2)
    assert (done.dropped, done.dropped_tags) == ([1, 2, 3], ["base", "gone"])
    assert (ids(table), newest_rows(table)) == ([1, 2], [20, 21])
    check_whole(table)


def test_a_table_that_nothing_was_written_to_takes_the_branch_over(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    create_branch(table, "dev")
    with pytest.raises(InvalidInputError, match="no snapshot"):
        fast_forward(table, "dev")
    insert(branch_of(table, "dev"), (1, "v", "x"))
    assert fast_forward(table, "dev").previous is None
    assert newest_rows(table) == [1]


def test_history_that_is_not_the_branchs_goes_though_the_branch_has_expired_past_it(tmp_path: Path) -> None:
    table = history(tmp_path)
    dev = branch_of(table, "dev")
    expire(dev)
    done = fast_forward(table, "dev")
    assert (done.shared, done.kept, done.added) == (2, [1, 2], [4])
    assert (ids(table), newest_rows(table)) == ([1, 2, 4], [10, 11])
    expire(table)
    check_whole(table)
    bare = branch_of(table, "bare")
    expire(bare)
    fast_forward(fresh(table), "bare")
    assert (ids(table), fresh(table).snapshots.earliest_id()) == ([2], 2)
    check_whole(table)


def test_a_table_that_expired_past_the_parting_gets_the_branchs_snapshots(tmp_path: Path) -> None:
    table = history(tmp_path)
    expire(table)
    done = fast_forward(fresh(table), "dev")
    assert (done.shared, done.kept, done.dropped, done.added) == (2, [], [3], [2, 3, 4])
    assert fresh(table).snapshots.earliest_id() == 2
    check_whole(table)


def test_schemas_become_the_branchs(tmp_path: Path) -> None:
    table = history(tmp_path)
    for branch, names in (("main", ["a", "b"]), ("dev", ["c"])):
        schemas = SchemaManager(table.file_io, replace(table, branch=branch).paths.branch_root)
        for name in names:
            change = AddColumn((name,), IntType())
            schemas.evolve(lambda s: apply_changes(s, [change], has_data=True, case_sensitive=True))  # noqa: B023
    done = fast_forward(fresh(table), "dev")
    assert (done.dropped_schemas, done.added_schemas) == ([2], [1])
    schema = fresh(table).schemas.latest()
    assert schema is not None
    assert schema.names == ("id", "v", "p", "c")


def test_a_branch_can_become_another_branch(tmp_path: Path) -> None:
    table = history(tmp_path)
    bare = branch_of(table, "bare")
    assert fast_forward(bare, "dev").current == 4
    assert newest_rows(branch_of(table, "bare")) == [10, 11]
    assert newest_rows(table) == [3]


@pytest.mark.parametrize("name", ["main", "nope"])
def test_only_a_branch_will_do(tmp_path: Path, name: str) -> None:
    with pytest.raises((InvalidInputError, NotFoundError), match=name):
        fast_forward(history(tmp_path), name)


def test_a_dry_run_is_the_plan_and_changes_nothing(tmp_path: Path) -> None:
    table = history(tmp_path)
    before = {p: p.read_bytes() for p in Path(table.path).rglob("*") if p.is_file()}
    planned = fast_forward(table, "dev", dry_run=True)
    assert {p: p.read_bytes() for p in Path(table.path).rglob("*") if p.is_file()} == before
    assert fast_forward(fresh(table), "dev") == planned


@pytest.mark.parametrize("name", ["dev", "bare"])
def test_a_run_interrupted_anywhere_leaves_a_table_that_the_next_one_finishes(tmp_path: Path, name: str) -> None:
    table = history(tmp_path)
    counting = InterruptedFolders()
    wanted = copied(table, tmp_path, -1, counting)
    fast_forward(wanted, name)
    for at in range(0, counting.count, 1 if name == "dev" else 2):
        crashed = copied(table, tmp_path, at, InterruptedFolders(at))
        with pytest.raises(Crash):
            fast_forward(crashed, name)
        survivor = fresh(replace(crashed, file_io=LocalFileIO()))
        check_whole(survivor)
        fast_forward(survivor, name)
        assert (ids(survivor), newest_rows(survivor)) == (ids(wanted), newest_rows(wanted))
        assert [n for n in fresh(survivor).tags.names() if not is_guard(n)] == fresh(wanted).tags.names()
        insert(fresh(survivor), (99, "later", "x"))
        shutil.rmtree(survivor.path)


def tried(table: Table) -> None:
    """Insert a row, but for the moments at which writers wait until the table has gone back."""
    options = {**table.schema.options, "commit.max-retries": "1", "commit.min-retry-wait": "1 ms"}
    with suppress(CommitConflictError):
        insert(fresh(replace(table, schema=replace(table.schema, options=options))), (50, "rival", "x"))


@pytest.mark.parametrize("name", ["dev", "bare"])
def test_a_commit_at_any_moment_goes_or_follows(tmp_path: Path, name: str) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO(also=("list",))
    fast_forward(copied(table, tmp_path, -1, counting), name)
    wanted = [10, 11] if name == "dev" else [20, 21]
    for at in range(0, counting.count, 3):
        plain = copied(table, tmp_path, at, LocalFileIO())
        rival = InterruptedFileIO(at, lambda: tried(plain), also=("list",))  # noqa: B023
        fast_forward(replace(plain, file_io=rival), name)
        assert newest_rows(plain) in (wanted, [*wanted, 50])
        check_whole(plain)
        shutil.rmtree(plain.path)


def test_a_tag_made_at_any_moment_goes_or_stays(tmp_path: Path) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO(also=("list", "read"))
    fast_forward(copied(table, tmp_path, -1, counting), "dev")
    for at in range(counting.count):
        plain = copied(table, tmp_path, at, LocalFileIO())
        rival = InterruptedFileIO(at, lambda: create_tag(fresh(plain), "rival"), also=("list", "read"))  # noqa: B023
        fast_forward(replace(plain, file_io=rival), "dev")
        assert newest_rows(plain) == [10, 11]
        check_whole(plain)
        shutil.rmtree(plain.path)


@pytest.mark.parametrize("whose", ["main", "dev"])
def test_an_expiry_of_either_side_at_any_moment_breaks_neither(tmp_path: Path, whose: str) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO(also=("list", "read"))
    fast_forward(copied(table, tmp_path, -1, counting), "dev")
    for at in range(0, counting.count, 6):
        plain = copied(table, tmp_path, at, LocalFileIO())
        side = plain if whose == "main" else branch_of(plain, whose)
        rival = InterruptedFileIO(at, lambda: expire(side), also=("list", "read"))  # noqa: B023
        fast_forward(replace(plain, file_io=rival), "dev")
        assert newest_rows(plain) == [10, 11]
        check_whole(plain)
        shutil.rmtree(plain.path)


def test_a_fast_forward_at_any_moment_of_the_branchs_expiry_is_left_whole(tmp_path: Path) -> None:
    table = history(tmp_path)
    insert(branch_of(table, "dev"), (12, "dev", "x"))
    overwrite(branch_of(table, "dev"), (13, "dev", "x"))
    counting = InterruptedFileIO(also=("list", "read"))
    counted = copied(table, tmp_path, -1, counting)
    expire(branch_of(counted, "dev"))
    for at in range(0, counting.count, 6):
        plain = copied(table, tmp_path, at, LocalFileIO())
        rival = InterruptedFileIO(at, lambda: fast_forward(fresh(plain), "dev"), also=("list", "read"))  # noqa: B023
        expire(branch_of(replace(plain, file_io=rival), "dev"))
        assert newest_rows(plain) == [13]
        check_whole(plain)
        shutil.rmtree(plain.path)


@pytest.mark.parametrize("name", ["dev", "bare"])
def test_a_branch_that_is_dropped_at_any_moment_leaves_a_table_that_can_be_read(tmp_path: Path, name: str) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO(also=("list", "read"))
    fast_forward(copied(table, tmp_path, -1, counting), name)
    shared, behind = ([1, 2], ([10], [10, 11])) if name == "dev" else ([], ([20], [20, 21]))
    for at in range(0, counting.count, 2):
        plain = copied(table, tmp_path, at, LocalFileIO())
        rival = InterruptedFileIO(at, lambda: delete_branches(fresh(plain), [name]), also=("list", "read"))  # noqa: B023
        with suppress(PaimonError):
            fast_forward(replace(plain, file_io=rival), name)
        assert newest_rows(plain) in ([3], shared, *behind)
        check_whole(plain)
        shutil.rmtree(plain.path)


def test_a_snapshot_that_an_expiry_is_about_to_take_comes_back_with_the_branch(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    insert(table, (2, "v", "x"))
    create_branch(table, "b", snapshot_id=2)
    overwrite(table, (3, "main", "x"))
    fresh(table).snapshots.directory.advance_hint(EARLIEST, 3)
    fast_forward(fresh(table), "b")
    assert newest_rows(table) == [1, 2]
    assert fresh(table).snapshots.late_snapshots() == []
    insert(fresh(table), (4, "v", "x"))
    assert newest_rows(table) == [1, 2, 4]
    check_whole(table)


def test_a_fast_forward_that_is_killed_among_snapshots_of_the_branch_is_ended_by_the_next(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "v", "x"))
    create_branch(table, "b", snapshot_id=1)
    overwrite(table, (3, "main", "x"))
    fresh(table).snapshots.directory.advance_hint(EARLIEST, 2)
    counting = InterruptedFileIO()
    fast_forward(copied(table, tmp_path, -1, counting), "b")
    for at in range(counting.count):
        survivor = copied(table, tmp_path, at, LocalFileIO())
        with suppress(Crash):
            fast_forward(replace(survivor, file_io=InterruptedFileIO(at)), "b")
        fast_forward(fresh(survivor), "b")
        assert newest_rows(survivor) == [1]
        check_whole(survivor)
        shutil.rmtree(survivor.path)

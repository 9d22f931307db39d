"""Branches made, renamed and deleted, whatever happens meanwhile."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import AlreadyExistsError, InvalidInputError, NoSuchSnapshotError, NotFoundError
from paimon_sql.format.schema.types import IntType
from paimon_sql.storage.branches.management import create_branch, delete_branches, rename_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.retention.policy import Limits, retention_of
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from tests.storage.folder_io import InterruptedFolders, ObjectStoreIO
from tests.storage.interrupted_io import Crash, InterruptedFileIO
from tests.storage.small_tables import fresh, insert, make_table, on_disk, overwrite, reachable, rows_at


def expire(table: Table, keep: int = 1) -> None:
    table = fresh(table)
    now = int(time.time() * 1000)
    expire_snapshots(table, retention_of(table.options, now, Limits(retain_max=keep, retain_min=keep)))


def history(path: Path, file_io: FileIO | None = None) -> Table:
    table = make_table(path / "t", {"snapshot.num-retained.max": "50"}, file_io=file_io)
    insert(table, (1, "v", "x"))
    insert(table, (2, "v", "x"))
    create_tag(table, "base", 1)
    overwrite(table, (3, "w", "x"))
    return table


def newest_rows(table: Table) -> list[int]:
    latest = fresh(table).snapshots.latest()
    return [] if latest is None else [row[0] for row in rows_at(table, latest)]


def copied(table: Table, path: Path, number: int, file_io: FileIO) -> Table:
    target = path / f"copy-{number}"
    shutil.copytree(table.path, target)
    return replace(table, path=str(target), file_io=file_io)


def test_a_branch_begins_with_a_tag_a_snapshot_or_empty(tmp_path: Path) -> None:
    table = history(tmp_path)
    made = create_branch(table, "dev", tag="base")
    assert (made.snapshot and made.snapshot.id, made.schema_id) == (1, 0)
    create_branch(table, "late", snapshot_id=2)
    create_branch(table, "bare")
    assert fresh(table).branches.names() == ["bare", "dev", "late"]
    assert [newest_rows(branch_of(table, n)) for n in ("dev", "late", "bare")] == [[1], [1, 2], []]
    assert branch_of(table, "dev").tags.names() == ["base"]
    assert branch_of(table, "late").tags.names() == []
    insert(branch_of(table, "bare"), (9, "v", "x"))
    assert newest_rows(branch_of(table, "bare")) == [9]
    assert newest_rows(table) == [3]


def test_a_branch_of_a_branch_begins_with_the_branchs_tag(tmp_path: Path) -> None:
    table = history(tmp_path)
    create_branch(table, "dev", tag="base")
    dev = branch_of(table, "dev")
    insert(dev, (7, "v", "x"))
    create_tag(dev, "seven")
    with pytest.raises(NoSuchSnapshotError, match="seven"):
        create_branch(table, "deeper", tag="seven")
    create_branch(dev, "deeper", tag="seven")
    assert newest_rows(branch_of(table, "deeper")) == [1, 7]


def test_a_branch_takes_the_schemas_up_to_its_beginning(tmp_path: Path) -> None:
    table = history(tmp_path)
    table.schemas.evolve(lambda s: apply_changes(s, [AddColumn(("n",), IntType())], has_data=True, case_sensitive=True))
    create_branch(table, "old", tag="base")
    create_branch(table, "new")
    assert branch_of(table, "old").schema.names == ("id", "v", "p")
    assert branch_of(table, "new").schema.names == ("id", "v", "p", "n")


def test_a_branch_of_a_tag_whose_snapshot_expired_can_be_read_and_outlives_the_tag(tmp_path: Path) -> None:
    table = history(tmp_path)
    expire(table)
    create_branch(table, "dev", tag="base")
    delete_tags(fresh(table), ["base"])
    assert newest_rows(branch_of(table, "dev")) == [1]
    assert reachable(fresh(table)) == on_disk(table)


@pytest.mark.parametrize("name", ["main", "123", "", " ", "a/b", "a\\b", "a$b", "x" * 300, "line\nbreak"])
def test_names_that_can_be_none_are_refused(tmp_path: Path, name: str) -> None:
    table = history(tmp_path)
    with pytest.raises(InvalidInputError):
        create_branch(table, name)
    create_branch(table, "dev")
    with pytest.raises(InvalidInputError):
        rename_branch(table, "dev", name)
    assert fresh(table).branches.names() == ["dev"]


def test_what_is_not_there_or_there_already_is_named(tmp_path: Path) -> None:
    table = history(tmp_path)
    create_branch(table, "dev")
    for wrong in ({"tag": "nope"}, {"snapshot_id": 44}):
        with pytest.raises(NoSuchSnapshotError, match=r"nope|44"):
            create_branch(table, "x", **wrong)
    with pytest.raises(InvalidInputError, match="not from both"):
        create_branch(table, "x", tag="base", snapshot_id=1)
    with pytest.raises(AlreadyExistsError, match="dev"):
        create_branch(table, "dev", tag="base")
    assert create_branch(table, "dev", tag="base", ignore_if_exists=True).existed
    create_branch(table, "test")
    with pytest.raises(NotFoundError, match="there are dev, test"):
        delete_branches(table, ["dev", "gone"])
    with pytest.raises(NotFoundError, match="gone"):
        rename_branch(table, "gone", "y")
    with pytest.raises(AlreadyExistsError, match="test"):
        rename_branch(table, "dev", "test")
    for verb in (lambda: delete_branches(table, ["main"]), lambda: rename_branch(table, "main", "y")):
        with pytest.raises(InvalidInputError, match="main"):
            verb()
    assert fresh(table).branches.names() == ["dev", "test"]


def test_a_branch_that_an_option_names_stays(tmp_path: Path) -> None:
    table = history(tmp_path)
    create_branch(table, "dev")
    change = SetOption("scan.fallback-branch", "dev")
    table.schemas.evolve(lambda s: apply_changes(s, [change], has_data=True, case_sensitive=True))
    for verb in (lambda: delete_branches(table, ["dev"]), lambda: rename_branch(table, "dev", "y")):
        with pytest.raises(InvalidInputError, match=r"scan\.fallback-branch"):
            verb()


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = history(tmp_path)
    made = create_branch(table, "dev", tag="base", dry_run=True)
    assert made.snapshot is not None
    assert fresh(table).branches.names() == []
    create_branch(table, "dev", tag="base")
    assert delete_branches(table, ["dev"], dry_run=True)[0].snapshots == 1
    assert rename_branch(table, "dev", "other", dry_run=True).tags == 1
    assert fresh(table).branches.names() == ["dev"]


def test_a_renamed_branch_keeps_what_it_holds(tmp_path: Path) -> None:
    table = history(tmp_path)
    create_branch(table, "dev", tag="base")
    rename_branch(table, "dev", "kept")
    assert fresh(table).branches.names() == ["kept"]
    assert newest_rows(branch_of(table, "kept")) == [1]


def test_a_creation_interrupted_anywhere_leaves_no_half_branch(tmp_path: Path) -> None:
    table = history(tmp_path)
    counting = InterruptedFolders()
    create_branch(copied(table, tmp_path, -1, counting), "dev", tag="base")
    assert counting.count >= 4
    for at in range(counting.count):
        crashed = copied(table, tmp_path, at, InterruptedFolders(at))
        with pytest.raises(Crash):
            create_branch(crashed, "dev", tag="base")
        survivor = fresh(replace(crashed, file_io=LocalFileIO()))
        if not survivor.branches.exists(
            "dev"
        ):  # otherwise it is whole, and only the tag that kept its snapshot is left
            create_branch(survivor, "dev", tag="base")
        assert newest_rows(branch_of(survivor, "dev")) == [1]
        assert len(list(Path(survivor.path, "branch").iterdir())) <= 2
        shutil.rmtree(survivor.path)


def test_a_deletion_interrupted_anywhere_leaves_the_whole_branch_or_none(tmp_path: Path) -> None:
    table = history(tmp_path)
    create_branch(table, "dev", tag="base")
    counting = InterruptedFolders()
    delete_branches(copied(table, tmp_path, -1, counting), ["dev"])
    for at in range(counting.count):
        crashed = copied(table, tmp_path, at, InterruptedFolders(at))
        with pytest.raises(Crash):
            delete_branches(crashed, ["dev"])
        survivor = fresh(replace(crashed, file_io=LocalFileIO()))
        if survivor.branches.exists("dev"):
            assert at == 0
            assert newest_rows(branch_of(survivor, "dev")) == [1]
        shutil.rmtree(survivor.path)


def test_what_interrupted_runs_left_goes_when_it_is_old(tmp_path: Path) -> None:
    table = history(tmp_path)
    for name in ("old", "young"):
        with pytest.raises(Crash):
            create_branch(replace(table, file_io=InterruptedFolders(2)), name, tag="base")
    (old,) = (p for p in Path(table.path, "branch").iterdir() if p.name.startswith(".branch-old."))
    os.utime(old, (0, 0))
    create_branch(table, "other")
    names = sorted(p.name for p in Path(table.path, "branch").iterdir())
    assert len(names) == 2
    assert names[0].startswith(".branch-young.")
    assert names[1] == "branch-other"


def test_branches_come_and_go_on_object_stores(tmp_path: Path) -> None:
    table = history(tmp_path, ObjectStoreIO())
    create_branch(table, "dev", tag="base")
    with pytest.raises(AlreadyExistsError):
        table.branches.create("dev", {})
    assert newest_rows(branch_of(table, "dev")) == [1]
    delete_branches(table, ["dev"])
    assert not list(Path(table.path, "branch").iterdir())


def test_rivals_make_one_branch(tmp_path: Path) -> None:
    table = history(tmp_path)
    plain = fresh(table)
    rival = InterruptedFolders(2, lambda: create_branch(plain, "dev", snapshot_id=2))
    with pytest.raises(AlreadyExistsError, match="dev"):
        create_branch(replace(table, file_io=rival), "dev", tag="base")
    assert newest_rows(branch_of(plain, "dev")) == [1, 2]
    assert [p.name for p in Path(table.path, "branch").iterdir()] == ["branch-dev"]


def test_expiry_of_either_side_leaves_the_other_whole(tmp_path: Path) -> None:
    table = history(tmp_path)
    create_branch(table, "dev", tag="base")
    dev = branch_of(table, "dev")
    overwrite(dev, (5, "v", "x"))
    delete_tags(fresh(table), ["base"])
    expire(table)
    assert rows_at(dev, fresh(dev).snapshots.get(1)) == [(1, "v", "x")]
    assert newest_rows(table) == [3]
    delete_tags(fresh(dev), ["base"])
    expire(dev)
    assert newest_rows(dev) == [5]
    assert reachable(fresh(table)) == on_disk(table)


def test_an_expiry_at_any_moment_of_making_a_branch_does_not_break_it(tmp_path: Path) -> None:
    table = history(tmp_path)
    counting = InterruptedFileIO(also=("list", "read"))
    create_branch(copied(table, tmp_path, -1, counting), "dev", snapshot_id=1)
    delete_tags(fresh(table), ["base"])
    for at in range(counting.count):
        plain = copied(table, tmp_path, at, LocalFileIO())
        rival = InterruptedFileIO(at, lambda: expire(plain), also=("list", "read"))  # noqa: B023
        try:
            create_branch(replace(plain, file_io=rival), "dev", snapshot_id=1)
        except NoSuchSnapshotError:
            assert fresh(plain).branches.names() == []
        else:
            assert newest_rows(branch_of(fresh(plain), "dev")) == [1]
        assert reachable(fresh(plain)) <= on_disk(plain)
        shutil.rmtree(plain.path)

"""Writers that were paused right behind their commit write hints late, when the table or branch may be gone."""

from __future__ import annotations

import shutil
from pathlib import Path

from paimon_sql.storage.branches.management import create_branch, delete_branches
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.numbered_files import LATEST
from tests.storage import small_tables as small


def test_a_hint_does_not_bring_the_directory_of_a_dropped_table_back(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t")
    small.insert(table, (1, "a", "x"))
    shutil.rmtree(tmp_path / "t")
    table.snapshots.directory.advance_hint(LATEST, 1)
    assert not (tmp_path / "t").exists()


def test_a_hint_does_not_bring_a_deleted_branch_back(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t")
    create_branch(table, "b")
    branch = branch_of(table, "b")
    small.insert(branch, (1, "a", "x"))
    delete_branches(table, ["b"])
    branch.snapshots.directory.advance_hint(LATEST, 1)
    assert table.branches.names() == []


def test_a_file_in_a_directory_that_is_gone_is_not_replaced(tmp_path: Path) -> None:
    assert not LocalFileIO().replace_if(str(tmp_path / "gone" / "LATEST"), None, b"1")
    assert not (tmp_path / "gone").exists()

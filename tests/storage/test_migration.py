"""Plain files taken over without Spark: moved and committed, or put back wherever it ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from paimon_sql.errors import CommitUnknownError, InvalidInputError, MissingFileError, PaimonError
from paimon_sql.storage.copy.copy import CopyTask
from paimon_sql.storage.copy.migration import (
    PlainFile,
    PlainTable,
    check_target,
    examine,
    migrate_files,
    undo_migration,
)
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from tests.storage.faulty_io import Died, MortalFileIO
from tests.storage.small_tables import COLUMNS, fresh, insert, make_table, on_disk, rows_at

ROWS = [(1, "a", "x"), (2, "b", "x")]


def plain(folder: Path, count: int = 2) -> PlainTable:
    files = []
    for i in range(count):
        path = folder / f"p=x/part-{i}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {"id": pa.array([ROWS[i][0]], pa.int32()), "v": pa.array([ROWS[i][1]])}
        parquet.write_table(pa.table(columns), path)
        files.append(PlainFile(str(path), path.stat().st_size, {"p": "x"}))
    return PlainTable("plain", COLUMNS, ("p",), "parquet", tuple(files), LocalFileIO())


def migrated(source: PlainTable, target: Table, *, keep: bool = False) -> Any:
    messages = examine(source, target, LocalExecutor(1))
    return migrate_files(source, target, messages, LocalExecutor(1), keep=keep, threads=2)


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("keep", [True, False])
def test_files_are_moved_or_copied_and_committed(tmp_path: Path, keep: bool) -> None:
    source, target = plain(tmp_path / "plain"), make_table(tmp_path / "t", partition_keys=["p"])
    made = migrated(source, target, keep=keep)
    assert rows_at(fresh(target), made) == ROWS
    assert len(names(tmp_path / "plain")) == (2 if keep else 0)
    assert "_migration.json" not in names(tmp_path / "t")


def test_a_migration_that_dies_anywhere_is_put_back_or_done(tmp_path: Path) -> None:
    counting = MortalFileIO(10**9)
    source, target = plain(tmp_path / "n"), make_table(tmp_path / "tn", partition_keys=["p"], file_io=counting)
    messages = examine(source, target, LocalExecutor(1))
    before = counting.count
    migrate_files(source, target, messages, LocalExecutor(1), keep=False, threads=1)
    for step in range(counting.count - before + 1):
        place = tmp_path / str(step)
        source = plain(place / "plain")
        mortal = MortalFileIO(10**9)
        target = make_table(place / "t", partition_keys=["p"], file_io=mortal)
        messages = examine(source, target, LocalExecutor(1))
        mortal.at = mortal.count + step
        with suppress(Died):
            migrate_files(source, target, messages, LocalExecutor(1), keep=False, threads=1)
        survivor = Table("t", target.path, LocalFileIO(), target.schema)
        undo_migration(survivor)
        latest = fresh(survivor).snapshots.latest()
        if latest is None:
            assert names(place / "plain") == {"part-0.parquet", "part-1.parquet"}
            latest = migrated(source, fresh(survivor))
        assert rows_at(fresh(survivor), latest) == ROWS
        assert names(place / "plain") == set()
        assert "_migration.json" not in names(place / "t")


def test_a_commit_that_fails_puts_the_files_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = plain(tmp_path / "plain"), make_table(tmp_path / "t", partition_keys=["p"])

    def full(self: LocalFileIO, path: str, data: bytes, *, locked: bool = False) -> bool:
        raise PaimonError("the disk is full")

    monkeypatch.setattr(LocalFileIO, "try_create_exclusive", full)
    with pytest.raises(PaimonError, match="full"):
        migrated(source, target)
    assert names(tmp_path / "plain") == {"part-0.parquet", "part-1.parquet"}
    assert not any("bucket-" in path for path in on_disk(target))


def test_a_file_that_went_meanwhile_stops_it(tmp_path: Path) -> None:
    source, target = plain(tmp_path / "plain"), make_table(tmp_path / "t", partition_keys=["p"])
    messages: list[CommitMessage] = examine(source, target, LocalExecutor(1))
    Path(source.files[1].path).unlink()
    with pytest.raises(InvalidInputError, match="1 of 2 files went"):
        migrate_files(source, target, messages, LocalExecutor(1), keep=False, threads=1)
    assert names(tmp_path / "plain") == {"part-0.parquet"}
    assert target.snapshots.latest_id() is None


def test_committed_files_stay_even_when_they_are_not_live_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = plain(tmp_path / "plain"), make_table(tmp_path / "t", partition_keys=["p"])
    monkeypatch.setattr(LocalFileIO, "delete", lambda self, path: True)  # the journal stays
    first = migrated(source, target)
    monkeypatch.undo()
    insert(fresh(target), (3, "c", "x"))
    assert undo_migration(fresh(target)) == 0
    assert rows_at(fresh(target), first) == ROWS
    assert "_migration.json" not in names(tmp_path / "t")


def test_files_whose_old_places_are_taken_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = plain(tmp_path / "plain"), make_table(tmp_path / "t", partition_keys=["p"])

    def lost(*_: Any, **__: Any) -> Any:
        raise CommitUnknownError("lost", commit_user="u", commit_identifier=1)

    monkeypatch.setattr("paimon_sql.storage.commit.snapshot.snapshot_commit.RenamingSnapshotCommit._created", lost)
    with pytest.raises(CommitUnknownError):
        migrated(source, target)
    assert names(tmp_path / "plain") == set()
    plain(tmp_path / "plain", 1)
    with pytest.raises(InvalidInputError, match="1 files of a migration that was given up cannot go back"):
        undo_migration(fresh(target))
    assert "_migration.json" in names(tmp_path / "t")
    (tmp_path / "plain/p=x/part-0.parquet").unlink()
    assert undo_migration(fresh(target)) == 1


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    target = make_table(tmp_path / "t", partition_keys=["p"])
    source = plain(tmp_path / "plain")
    for name, columns, said in (
        ("upper", {"ID": pa.array([1], pa.int32())}, "its column ID is id in the table"),
        ("none", {"x": pa.array([1])}, "holds none of the columns, but x"),
        ("wrong", {"id": pa.array([[1]])}, "cannot be taken over"),
    ):
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(pa.table(columns), path)
        file = PlainFile(str(path), path.stat().st_size, {"p": "x"})
        with pytest.raises(InvalidInputError, match=said):
            examine(PlainTable("plain", COLUMNS, ("p",), "parquet", (file,), LocalFileIO()), target, LocalExecutor())
    keyed = make_table(tmp_path / "k", primary_keys=["id"])
    with pytest.raises(InvalidInputError, match="primary key"):
        check_target(source, keyed)


def test_a_copy_that_is_run_twice_stays_whole(tmp_path: Path) -> None:
    io, pairs = LocalFileIO(), [(str(tmp_path / f"a{i}"), str(tmp_path / "to" / f"b{i}")) for i in range(2)]
    for origin, _ in pairs:
        io.write_bytes(origin, b"rows")
    task = CopyTask(io, io, tuple(pairs), 8)
    task.run()
    task.run()
    io.delete(pairs[1][0])
    with pytest.raises(MissingFileError):
        task.run()  # which takes nothing away that another run has made
    assert {p.name: p.read_bytes() for p in (tmp_path / "to").iterdir()} == {"b0": b"rows", "b1": b"rows"}

"""Ways to lose, double or leak rows that a review has shown; each test plays the scenario from end to end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NoSuchSnapshotError, NoSuchTableError, PaimonError, UnsafePathError
from paimon_sql.format.layout import paths
from paimon_sql.format.metadata import manifest_records
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.process import PROCESS
from paimon_sql.storage.commit.snapshot.snapshot_commit import Created, RenamingSnapshotCommit
from paimon_sql.storage.copy import copy
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.manifests import ExternalRoots
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST, NumberedDirectory
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.retention.files_to_delete import FilesToDelete
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import again, insert, make_table, overwrite, rows, written
from tests.storage.small_tables import on_disk, reachable

QUICK = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms"}


def expire(table: Table, keep: int = 1) -> ExpirationResult:
    return expire_snapshots(again(table), Retention(keep, keep, 2**62, 10**6))


def keys(table: Table) -> list[int]:
    return sorted(row[0] for row in rows(table))


def hint(table: Table, name: str) -> int | None:
    return again(table).snapshots.directory.hint(name)


@pytest.fixture
def stalls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Lets something happen right before the next snapshot's file is created."""

    def arm(meanwhile: Callable[[], object]) -> None:
        created, waiting = RenamingSnapshotCommit._created, [meanwhile]

        def late(self: RenamingSnapshotCommit, snapshot: Snapshot, *, locked: bool) -> Created:
            if waiting:
                waiting.pop()()
            return created(self, snapshot, locked=locked)

        monkeypatch.setattr(RenamingSnapshotCommit, "_created", late)

    return arm


Stalls = Callable[[Callable[[], object]], None]


def test_a_writer_stalled_past_retention_forks_no_history(tmp_path: Path, stalls: Stalls) -> None:
    table = make_table(tmp_path / "t", QUICK)
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))

    def rivals() -> None:
        for i in range(3, 7):
            insert(table, (i, "rival", "x"))
        expire(table)

    stalls(rivals)
    assert insert(table, (99, "stalled", "x")).id == 7
    expected = [1, 2, 3, 4, 5, 6, 99]
    assert (keys(table), hint(table, LATEST), hint(table, EARLIEST)) == (expected, 7, 6)
    for key in range(100, 104):
        insert(table, (key, "later", "x"))
        expected.append(key)
        assert keys(table) == expected
    assert again(table).snapshots.directory.versions() == [6, 7, 8, 9, 10, 11]


def test_an_insert_in_flight_brings_no_row_back_that_was_rolled_back(tmp_path: Path, stalls: Stalls) -> None:
    table = make_table(tmp_path / "t", QUICK)
    for i in range(1, 5):
        insert(table, (i, "v", "x"))
    stalls(lambda: rollback_to_snapshot(again(table), 2))
    assert insert(table, (99, "late", "x")).id == 3
    assert keys(table) == [1, 2, 99]
    find_orphans(again(table), Search(2**62, LocalExecutor()))


@pytest.mark.parametrize("slower", ["before its hint", "behind its hint"])
def test_of_two_expiries_the_slower_keeps_no_snapshot_without_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slower: str
) -> None:
    table = make_table(tmp_path / "t")
    for i in range(1, 7):
        overwrite(table, (i, f"v{i}", "x"))
    slow_came, quick_deleted, slow_hinted = threading.Event(), threading.Event(), threading.Event()
    advance, delete = NumberedDirectory.advance_hint, FilesToDelete.delete

    def hinting(self: NumberedDirectory, name: str, version: int) -> int:
        if threading.current_thread().name != "slow" or name != EARLIEST:
            return advance(self, name, version)
        if slower == "before its hint":
            slow_came.set()
            assert quick_deleted.wait(30)
        done = advance(self, name, version)
        slow_hinted.set()
        if slower == "behind its hint":
            slow_came.set()
            assert quick_deleted.wait(30)
        return done

    def deleting(self: FilesToDelete, of: Table) -> Any:
        done = delete(self, of)
        if threading.current_thread().name == "quick":
            quick_deleted.set()
            assert slow_hinted.wait(30)
        return done

    failures: list[BaseException] = []

    def run(keep: int, *, first: bool) -> None:
        try:
            assert first or slow_came.wait(30)
            expire(table, keep)
        except BaseException as error:
            failures.append(error)

    monkeypatch.setattr(NumberedDirectory, "advance_hint", hinting)
    monkeypatch.setattr(FilesToDelete, "delete", deleting)
    threads = [
        threading.Thread(target=run, args=(3,), kwargs={"first": True}, name="slow"),
        threading.Thread(target=run, args=(2,), kwargs={"first": False}, name="quick"),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert not failures
    assert (hint(table, EARLIEST), again(table).snapshots.earliest_id()) == (5, 5)
    with pytest.raises((NoSuchSnapshotError, PaimonError), match="4"):
        create_tag(again(table), "kept", 4)
    assert again(table).tags.names() == []
    for number in again(table).snapshots.directory.versions():
        assert read_at(table, number) == [number]
    overwrite(table, (9, "v9", "x"))
    expire(table)
    assert again(table).snapshots.directory.versions() == [7] and keys(table) == [9]
    assert reachable(table) <= on_disk(table)


def read_at(table: Table, snapshot_id: int) -> list[int]:
    """The keys that a snapshot holds."""
    at = again(table, {"scan.snapshot-id": str(snapshot_id)})
    batches = [b for split in plan_scan(at).splits for b in ReadTask(at, split, ("id", "v", "p")).batches()]
    return sorted(key for batch in batches for key in batch.column(0).to_pylist())


OLD = (DataField(0, "id", IntType()), DataField(1, "v", string_type()))
NEW = (DataField(0, "amount", IntType()), DataField(1, "v", string_type()))
T, U = Identifier("db", "t"), Identifier("db", "u")


@pytest.mark.parametrize("meanwhile", ["dropped", "dropped and made anew", "renamed"])
@pytest.mark.parametrize("filled", [False, True])
def test_rows_come_into_no_table_but_the_one_that_was_planned_on(tmp_path: Path, meanwhile: str, filled: bool) -> None:
    catalog = FileSystemCatalog("c", {"warehouse": str(tmp_path)})
    catalog.create_database("db", {})
    catalog.create_table(T, new_schema(list(OLD)))

    def messages(number: int) -> tuple[Table, list[Any]]:
        table = catalog.table(T)
        batch = pa.record_batch({"id": pa.array([number], pa.int32()), "v": pa.array([f"v{number}"])})
        return table, plan_write(table).run([batch])

    if filled:
        commits.append(*messages(1))
    table, late = messages(2)
    if meanwhile == "renamed":
        catalog.rename_table(T, U)
    else:
        catalog.drop_table(T)
    if meanwhile == "dropped and made anew":
        catalog.create_table(T, new_schema(list(NEW)))
    with pytest.raises(NoSuchTableError, match="was dropped, renamed or replaced"):
        commits.append(table, late)
    if meanwhile == "renamed":
        assert keys(catalog.table(U)) == ([1] if filled else [])
    assert catalog.table_exists(T) == (meanwhile == "dropped and made anew")
    if not catalog.table_exists(T):
        catalog.create_table(T, new_schema(list(NEW)))
    assert rows(catalog.table(T)) == []
    assert catalog.table(T).snapshots.latest_id() is None


def test_a_copy_that_is_stopped_behind_its_snapshot_deletes_none_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = make_table(tmp_path / "source"), make_table(tmp_path / "target")
    insert(source, (1, "a", "x"), (2, "b", "x"))
    insert(target, (7, "old", "x"))

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(copy, "after_commit", stopped)
    with pytest.raises(KeyboardInterrupt):
        copy.copy_files(copy.plan_copy(again(source)), again(target), LocalExecutor())
    assert again(target).snapshots.latest_id() == 2
    assert keys(target) == [1, 2]
    assert reachable(target) <= on_disk(target)


@pytest.mark.parametrize("name", ["../../victim.txt", "data-x.parquet"])
def test_files_that_a_manifest_names_outside_of_the_table_are_never_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    table = make_table(tmp_path / "t")
    victim = tmp_path / "victim.txt"
    victim.write_text("not of the table")

    def hostile() -> list[CommitMessage]:
        message = written(again(table), (1, "a", "x"))[0]
        external = None if ".." in name else str(victim)
        evil = replace(message.new_files[0], file_name=name, external_path=external)
        return [replace(message, new_files=(*message.new_files, evil))]

    with pytest.raises(UnsafePathError):
        commits.append(again(table), hostile())
    assert victim.exists()
    with monkeypatch.context() as patch:  # another writer does not look
        patch.setattr(paths, "inside", lambda folder, name: f"{folder}/{name}")
        patch.setattr(manifest_records, "check_file_names", lambda *_: None)
        patch.setattr(manifest_records, "check_straight_paths", lambda *_: None)
        patch.setattr(ExternalRoots, "check", lambda *_: None)
        commits.append(again(table), hostile())
    PROCESS.clear_caches()
    steps: list[Callable[[], object]] = [lambda: overwrite(table, (2, "b", "x")), lambda: expire(table)]
    for act in steps:
        with contextlib.suppress(PaimonError):
            act()
    with pytest.raises(UnsafePathError):
        rows(table)
    assert victim.exists()

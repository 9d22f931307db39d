"""Iceberg's metadata tell of the same files as the table's own, whatever happens to whoever writes them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.compute as pc
import pytest

from paimon_sql.errors import InvalidSchemaError, PaimonError, UnsupportedError
from paimon_sql.format.iceberg.manifests import Content, is_live
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField, IntType, TimestampType, VariantType
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.data_files.lsm_tree import max_level
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.file_io.paths import name_of
from paimon_sql.storage.iceberg import metadata_folder
from paimon_sql.storage.iceberg.manifest_sets import ManifestWriter
from paimon_sql.storage.iceberg.publish import Publication, publish
from paimon_sql.storage.iceberg.store import RETIRE_PENDING, MetadataStore
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.schema.validation import validate_schema
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import add_branch, compact, insert, make_table, overwrite

ON = {"metadata.iceberg.storage": "table-location"}
Paths = set[str]


def store_of(table: Table) -> MetadataStore:
    return MetadataStore(table.file_io, metadata_folder(table))


def shown(table: Table, snapshot_id: int | None = None) -> Paths:
    """The names of the data files that Iceberg's readers find."""
    store = store_of(table)
    version = store.hint()
    assert version is not None
    metadata = store.read(version)
    assert metadata is not None
    assert metadata.current_snapshot_id == version
    wanted = version if snapshot_id is None else snapshot_id
    snapshot = next(s for s in metadata.snapshots if s.id == wanted)
    writer = Publication(table).writer
    found: list[str] = []
    rows = 0
    for manifest in store.read_list(snapshot.manifest_list):
        if manifest.content == Content.DATA:
            entries = [e for e in writer.read(manifest) if is_live(e)]
            assert len(entries) == manifest.live_files
            assert sum(e["data_file"]["record_count"] for e in entries) == manifest.live_rows
            found += [e["data_file"]["file_path"] for e in entries]
            rows += manifest.live_rows
    assert len(found) == len(set(found))
    assert snapshot.total("records") == rows and snapshot.total("data-files") == len(found)
    assert all(Path(path).is_file() for path in found)
    return {name_of(path) for path in found}


def held(table: Table, snapshot_id: int | None = None) -> Paths:
    """The names of the data files that readers may see, as the table's own metadata have them."""
    return held_at(table, table.snapshots.latest() if snapshot_id is None else table.snapshots.get(snapshot_id))


def held_at(table: Table, snapshot: Snapshot | None) -> Paths:
    files = live_files(table, snapshot).entries
    if table.schema.primary_keys:
        files = files.filter(pc.equal(files["level"], max_level(table.options)))
    return set(files["file_name"].to_pylist())


def append_table(path: Path, **options: str) -> Table:
    return make_table(path, {**ON, **options}, partition_keys=["p"])


def test_each_commit_adds_one_manifest_and_reads_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    read: list[str] = []
    plain = ManifestWriter.read

    def counted(self: ManifestWriter, manifest: Any) -> Any:
        read.append(manifest.manifest_path)
        return plain(self, manifest)

    monkeypatch.setattr(ManifestWriter, "read", counted)
    for i in range(2, 6):
        insert(table, (i, "a", "x" if i % 2 else "y"))
    assert not read
    store = store_of(table)
    metadata = store.read(5)
    assert metadata is not None
    assert [len(store.read_list(s.manifest_list)) for s in metadata.snapshots] == [1, 2, 3, 4, 5]
    overwrite(table, (9, "over", "y"), dynamic=True)
    assert len(read) == 2  # those of the partition y
    monkeypatch.undo()
    assert shown(table) == held(table)


def test_a_process_that_dies_behind_a_commit_is_caught_up_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    with monkeypatch.context() as dying:
        dying.setattr("paimon_sql.storage.commit.transaction.publish_quietly", lambda table: None)
        insert(table, (2, "b", "y"))
        overwrite(table, (3, "c", "x"), dynamic=True)
    assert store_of(table).hint() == 1
    insert(table, (4, "d", "z"))
    assert [shown(table, i) for i in (2, 3, 4)] == [held(table, i) for i in (2, 3, 4)]
    assert not publish(table)


def test_what_fails_behind_a_commit_fails_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    calls: list[str] = []
    for name in ("write_manifest", "write_list", "write_version", "write_hint", "versions", "read_list"):
        with monkeypatch.context() as failing:

            def fail(self: MetadataStore, *arguments: object, _name: str = name) -> Any:
                calls.append(_name)
                raise OSError(f"no {_name}")

            failing.setattr(MetadataStore, name, fail)
            assert insert(table, (2, "b", "y")).id == len(set(calls)) + 1
        assert shown(table) <= held(table)
        publish(table)
        assert shown(table) == held(table)
    names = {p.name for p in Path(metadata_folder(table)).iterdir()}
    store = store_of(table)
    metadata = store.read(7)
    assert metadata is not None
    needed = {name_of(s.manifest_list) for s in metadata.snapshots} | {"v7.metadata.json", "version-hint.text"}
    needed |= {name_of(m.manifest_path) for s in metadata.snapshots for m in store.read_list(s.manifest_list)}
    assert names >= needed
    assert len(names - needed) <= 3  # what a call that failed after its file was there had left


def test_damaged_metadata_are_made_anew(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    folder = Path(metadata_folder(table))
    (folder / "v2.metadata.json").write_text('{"format-version": 2')
    insert(table, (3, "c", "x"))
    assert shown(table) == held(table)
    for manifest in folder.glob("*-m*.avro"):
        manifest.write_bytes(b"Obj\x01garbage")
    insert(table, (4, "d", "x"))
    overwrite(table, (5, "e", "x"))
    assert shown(table) == held(table)
    for path in folder.glob("snap-*.avro"):
        path.unlink()
    insert(table, (6, "f", "x"))
    assert shown(table) == held(table)
    for path in folder.iterdir():
        path.unlink()
    assert publish(table)
    assert shown(table) == held(table)


def test_nothing_but_metadata_is_ever_deleted(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t", **{"data-file.path-directory": "metadata"})
    insert(table, (1, "a", "x"))
    (Path(metadata_folder(table)) / "mine.txt").write_text("kept")
    for number in (1,):
        Path(table.snapshots.directory.path(number)).unlink()
    table.snapshots.directory.reset_hint("LATEST", 0)
    files = set(Path(table.path).rglob("*.parquet"))
    publish(table)
    assert store_of(table).versions() == []
    assert set(Path(table.path).rglob("*.parquet")) == files
    assert (Path(metadata_folder(table)) / "mine.txt").read_text() == "kept"


def test_a_history_that_was_taken_back_without_a_word_is_noticed(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t")
    for i in range(1, 4):
        insert(table, (i, "a", "x"))
    before = store_of(table).read(3)
    assert before is not None
    # As another implementation's rollback, which tells nobody of it, and new commits that take the numbers.
    for number in (2, 3):
        Path(table.snapshots.directory.path(number)).unlink()
    table.snapshots.directory.reset_hint("LATEST", 1)
    insert(table, (20, "b", "x"))
    insert(table, (30, "c", "x"))
    assert shown(table) == held(table)
    after = store_of(table).read(3)
    assert after is not None
    assert (after.table_uuid, [s.id for s in after.snapshots]) == (before.table_uuid, [1, 2, 3])


def test_the_mark_of_javas_rollback_stays_until_the_abandoned_versions_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, plain = append_table(tmp_path / "t"), LocalFileIO.delete
    versions_left: list[list[int]] = []
    for i in range(1, 4):
        insert(table, (i, "a", "x"))
    for number in (2, 3):
        Path(table.snapshots.directory.path(number)).unlink()
    table.snapshots.directory.reset_hint("LATEST", 1)
    (Path(metadata_folder(table)) / RETIRE_PENDING).touch()

    def delete(self: LocalFileIO, path: str) -> bool:
        if name_of(path) == RETIRE_PENDING:
            versions_left.append(store_of(table).versions())
        return plain(self, path)

    monkeypatch.setattr(LocalFileIO, "delete", delete)
    publish(table)
    assert versions_left == [[1]]
    assert not (Path(metadata_folder(table)) / RETIRE_PENDING).exists()


def test_rivals_publish_one_history(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (0, "a", "x"))
    errors: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for i in range(4):
                insert(replace(table), (start + i, "r", "x" if i % 2 else "y"))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n * 100,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    publish(table)
    assert table.snapshots.latest_id() == 13
    assert shown(table) == held(table)


def test_a_keyed_table_shows_its_deepest_level(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", ON, primary_keys=["id"])
    for i in range(3):
        insert(table, (1, f"v{i}", "x"), (i + 2, "n", "x"))
        assert shown(table) == held(table)
        compact(table)
        assert shown(table) == held(table)
        assert len(shown(table)) == 1


def test_no_search_for_orphans_takes_the_metadata_and_a_purge_leaves_none_of_the_rows(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    before = {p.name for p in Path(metadata_folder(table)).iterdir()}
    remove_orphans(find_orphans(table, Search(2**60, LocalExecutor())))
    assert {p.name for p in Path(metadata_folder(table)).iterdir()} == before
    purge(table)
    assert shown(table) == set()


def test_branches_are_not_shown(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t")
    first = insert(table, (1, "a", "x"))
    table.tags.create("first", first)
    add_branch(table, "dev", "first")
    insert(branch_of(table, "dev"), (2, "b", "x"))
    publish(table)
    assert shown(table) == held(table)
    assert store_of(table).hint() == 1


def test_files_of_other_formats_are_refused_and_nothing_wrong_is_shown(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t")
    insert(table, (1, "a", "x"))
    expected = shown(table)
    insert(table.with_options({"file.format": "orc"}), (2, "b", "x"))
    with pytest.raises(UnsupportedError, match="only Parquet files"):
        publish(table)
    assert shown(table) == expected


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ([VariantType()], {}, "VARIANT"),
        ([TimestampType(precision=9)], {}, r"TIMESTAMP\(9\)"),
        ([TimestampType(precision=0)], {}, r"TIMESTAMP\(0\)"),
        ([IntType()], {"file.format": "orc"}, "parquet"),
        ([IntType()], {"deletion-vectors.enabled": "true"}, "format-version"),
        ([IntType()], {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, "data-evolution"),
        ([IntType()], {"metadata.iceberg.format-version": "1"}, "2 or 3"),
        ([IntType()], {"metadata.iceberg.storage": "elsewhere"}, "hadoop-catalog"),
    ],
)
def test_tables_that_readers_could_not_read_are_refused(
    fields: list[Any], options: dict[str, str], message: str
) -> None:
    schema = schema_of(fields, options)
    with pytest.raises((PaimonError, InvalidSchemaError), match=message):
        validate_schema(schema)


def schema_of(types: list[Any], options: dict[str, str]) -> TableSchema:
    return new_schema([DataField(i, f"c{i}", kind) for i, kind in enumerate(types)], options={**ON, **options})


def test_the_metadata_are_as_icebergs_specification_has_them(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {**ON, "metadata.iceberg.format-version": "3"}, partition_keys=["p"])
    insert(table, (1, "a", "x"), (2, None, "x"))
    insert(table, (3, "b", "y"))
    body = json.loads(Path(store_of(table).version_path(2)).read_text())
    assert [f["id"] for f in body["schemas"][0]["fields"]] == [0, 1, 2]
    assert body["partition-specs"] == [
        {"spec-id": 0, "fields": [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]}
    ]
    assert body["snapshots"] is not None
    assert [(s["first-row-id"], s["added-rows"]) for s in body["snapshots"]] == [(0, 2), (2, 1)]
    assert body["next-row-id"] == 3
    writer = Publication(table).writer
    manifests = store_of(table).read_list(body["snapshots"][-1]["manifest-list"])
    entry: Any = writer.read(manifests[0])[0]["data_file"]
    assert entry["null_value_counts"] == [{"key": 0, "value": 0}, {"key": 1, "value": 1}, {"key": 2, "value": 0}]
    assert entry["lower_bounds"][0] == {"key": 0, "value": (1).to_bytes(4, "little")}
    assert entry["upper_bounds"][:2] == [{"key": 0, "value": (2).to_bytes(4, "little")}, {"key": 1, "value": b"a"}]
    assert [m.first_row_id for m in manifests] == [0, 2]


UNDONE = ("maintenance.snapshots.rollback", "maintenance.snapshots.expiration")
"""Modules that publish behind what they take away."""
OPERATIONS = int(os.environ.get("PAIMON_TEST_OPERATIONS", "25"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keyed", [False, True])
def test_whatever_happens_each_snapshot_is_shown_as_it_is(
    keyed: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``PAIMON_TEST_OPERATIONS=1000`` for more."""
    random = Random(seed)
    options = {**ON, "metadata.iceberg.compaction.min.file-num": "3", "metadata.iceberg.compaction.max.file-num": "5"}
    if seed % 2:
        options["metadata.iceberg.format-version"] = "3"
    table = make_table(tmp_path / "t", options, partition_keys=["p"], primary_keys=["id", "p"] if keyed else [])
    numbers = count(1)

    def row() -> tuple[int, str, str]:
        return (next(numbers) if random.random() < 0.7 else 1, "v", random.choice("xyz"))

    def retained() -> Snapshot:
        return random.choice([s for s in table.snapshots.all() if s.id >= (table.snapshots.earliest_id() or 0)])

    def expire() -> None:
        most = random.randint(1, 4)
        expire_snapshots(table, Retention(most, 1, 2**62, 100))

    steps: list[Callable[[], object]] = [
        lambda: insert(table, row(), row()),
        lambda: insert(table, row()),
        lambda: overwrite(table, row(), dynamic=True),
        lambda: compact(table) if keyed else overwrite(table, row(), dynamic=True),
        lambda: create_tag(table, f"tag{next(numbers)}", retained().id),
        lambda: delete_tags(table, table.tags.names()[:1]),
        expire,
        lambda: rollback_to_snapshot(table, retained().id),
    ]
    insert(table, row())
    for _ in range(OPERATIONS):
        step = random.choices(steps, weights=[4, 4, 2, 3, 2, 1, 1, 1])[0]
        with monkeypatch.context() as dying:
            dies = random.random() < 0.15
            if dies:
                for module in ("commit.transaction", "maintenance.tags.management", *UNDONE):
                    dying.setattr(f"paimon_sql.storage.{module}.publish_quietly", lambda table: None)
            step()
        if dies and random.random() < 0.5:
            continue
        publish(table)
        check_whole(table)


def check_whole(table: Table) -> None:
    """All that the metadata tell is so, and no file of theirs is left that nobody needs."""
    latest = table.snapshots.latest()
    assert latest is not None
    store = store_of(table)
    metadata = store.read(latest.id)
    assert metadata is not None and store.versions() == [latest.id] == [store.hint()]
    tagged = {t.name: t.snapshot for t in table.tags.all()}
    assert shown(table) == held(table)
    for snapshot in metadata.snapshots:
        found = table.snapshots.exists(snapshot.id)
        kept = table.snapshots.get(snapshot.id) if found else next(s for s in tagged.values() if s.id == snapshot.id)
        assert shown(table, snapshot.id) == held_at(table, kept)
    assert all(tagged[name].id == number for name, number in metadata.tags.items())
    needed = {f"v{latest.id}.metadata.json", "version-hint.text"}
    for snapshot in metadata.snapshots:
        needed.add(name_of(snapshot.manifest_list))
        needed |= {name_of(m.manifest_path) for m in store.read_list(snapshot.manifest_list)}
    assert {p.name for p in Path(store.folder).iterdir()} == needed
    if metadata.format_version == 3:
        lists = [store.read_list(s.manifest_list) for s in metadata.snapshots]
        ranges = {(m.manifest_path, m.first_row_id, m.live_rows) for some in lists for m in some}
        assert all(first is not None and first + rows <= (metadata.next_row_id or 0) for _, first, rows in ranges)
        spans = sorted((first or 0, (first or 0) + rows) for _, first, rows in ranges if rows)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))

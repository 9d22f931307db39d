"""Names in the metadata of strangers: none of them leads a read or a removal out of the table's directories."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.errors import InvalidInputError, PaimonError, UnsafePathError
from paimon_sql.format.layout.external_paths import entropy_directories
from paimon_sql.format.metadata.index_manifest import (
    HASH_INDEX,
    IndexFileMeta,
    IndexManifestEntry,
    read_index_manifest,
    write_index_manifest,
)
from paimon_sql.format.metadata.manifest import (
    FileKind,
    read_manifest,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from paimon_sql.format.statistics.column_statistics import EMPTY_ROW
from paimon_sql.process import PROCESS
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.maintenance.orphans.removal import find_orphans, remove_orphans
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.repair.repair import give_up_before
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.settings import FileNamer
from tests.storage.small_tables import amend_latest, compact, fresh, insert, make_table, overwrite, rows_at

NAMES = ("../../secret", "..", ".", "", "/etc/passwd", "a/../../../secret", "..\\secret", "a\x00b", "sub/file")
PATHS = (
    "../secret",
    "relative/file",
    "{inside}/../../secret",
    "{outside}/secret",
    "file:{outside}/secret",
    "{t}x/secret",
)


class Watched(LocalFileIO):
    """Notes every path that is touched."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not callable(found) or name in ("is_object_store", "link_below", "threads_for"):
            return found

        def noted(*arguments: Any, **named: Any) -> Any:
            for argument in (*arguments, *named.values()):
                paths = argument if isinstance(argument, list | tuple | set) else [argument]
                self.touched += [p for p in paths if isinstance(p, str) and "/" in p]
            return found(*arguments, **named)

        return noted


class World:
    """A table with two snapshots, a tag and a branch, beside which a stranger's target lies."""

    def __init__(self, root: Path, template: Path) -> None:
        shutil.copytree(template, root, dirs_exist_ok=True)
        self.io = Watched()
        schema = make_table(root / "of the schema", primary_keys=["id"]).schema
        self.table = Table("t", str(root / "wh" / "t"), self.io, schema)
        self.outside = root / "outside"
        self.targets = [self.outside / "secret", root / "secret", root / "wh" / "secret", root / "wh" / "tx" / "secret"]
        data = next(Path(self.table.path, "bucket-0").iterdir())
        for target in self.targets:
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(data.read_bytes())

    def texts(self, text: str) -> str:
        return text.format(outside=self.outside, inside=f"{self.table.path}/bucket-0", t=self.table.path)

    @property
    def manifests(self) -> Path:
        return Path(self.table.path, "manifest")

    def check(self) -> None:
        """Nothing outside was read, looked at or deleted."""
        assert all(target.exists() for target in self.targets)
        root = os.path.normpath(self.table.path)
        for path in self.io.touched:
            plain = os.path.normpath(path.removeprefix("file:"))
            assert plain == root or plain.startswith(f"{root}/"), path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template")
    table = make_table(root / "wh" / "t", primary_keys=["id"])
    insert(table, (1, "a", "x"))
    create_tag(fresh(table), "one", 1)
    insert(table, (2, "b", "x"))
    compact(fresh(table))
    insert(table, (3, "c", "x"))
    return root


@pytest.fixture
def world(tmp_path: Path, template: Path) -> Iterator[World]:
    made = World(tmp_path, template)
    PROCESS.clear_caches()
    made.io.touched.clear()
    yield made
    made.check()


def _with(table: pa.Table, column: str, value: Any) -> pa.Table:
    at = table.schema.get_field_index(column)
    return table.set_column(at, table.schema.field(at), pa.array([value] * len(table), table.schema.field(at).type))


def _every_manifest(world: World, column: str, value: Any) -> None:
    for path in world.manifests.iterdir():
        if path.name.startswith("manifest-") and not path.name.startswith("manifest-list-"):
            path.write_bytes(write_manifest(_with(read_manifest(path.read_bytes(), str(path)), column, value), "zstd"))


def _every_list(world: World, name: str) -> None:
    for path in world.manifests.glob("manifest-list-*"):
        metas = read_manifest_list(path.read_bytes(), str(path))
        path.write_bytes(write_manifest_list([replace(m, file_name=name) for m in metas], "zstd"))


def _index(world: World, **members: Any) -> None:
    file = IndexFileMeta(HASH_INDEX, "index-a-0", 8, 2)
    entry = IndexManifestEntry(FileKind.ADD, EMPTY_ROW, 0, replace(file, **members))
    (world.manifests / "index-manifest-a-0").write_bytes(write_index_manifest([entry]))
    _every_snapshot(world, indexManifest="index-manifest-a-0")


def _every_snapshot(world: World, **members: Any) -> None:
    root = Path(world.table.path)
    for path in (*root.glob("snapshot/snapshot-*"), *root.glob("tag/tag-*")):
        path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


ATTACKS: dict[str, tuple[Callable[[World, str], None], tuple[str, ...]]] = {
    "data file": (lambda w, name: _every_manifest(w, "file_name", name), NAMES),
    "extra file": (lambda w, name: _every_manifest(w, "extra_files", [name]), NAMES),
    "external path": (lambda w, name: _every_manifest(w, "external_path", name), PATHS),
    "manifest": (_every_list, NAMES),
    "base list": (lambda w, name: _every_snapshot(w, baseManifestList=name), NAMES),
    "delta list": (lambda w, name: _every_snapshot(w, deltaManifestList=name), NAMES),
    "changelog list": (lambda w, name: _every_snapshot(w, changelogManifestList=name), NAMES),
    "index manifest": (lambda w, name: _every_snapshot(w, indexManifest=name), NAMES),
    "index file": (lambda w, name: _index(w, file_name=name), NAMES),
    "external index": (lambda w, name: _index(w, external_path=name), PATHS),
    "statistics": (lambda w, name: _every_snapshot(w, statistics=name), NAMES),
}
WHOLLY = ("data file", "external path", "manifest")
"""Of the others some names suffice: all are checked in the same two places."""
CASES = [
    (what, text)
    for what, (_, texts) in ATTACKS.items()
    for i, text in enumerate(texts)
    if what in WHOLLY or i in (0, 4)
]


def _orphans(table: Table) -> None:
    search = Search(int(time.time() * 1000) + 86_400_000, LocalExecutor(), None)
    remove_orphans(find_orphans(table, search), dry_run=False)


OPERATIONS: dict[str, Callable[[Table], object]] = {
    "read": lambda table: [rows_at(table, s) for s in table.snapshots.all()],
    "compact": compact,
    "overwrite": lambda table: overwrite(table, (5, "e", "x")),
    "delete a tag": lambda table: delete_tags(table, ["one"]),
    "make a branch": lambda table: create_branch(table, "b", tag="one"),
    "roll back": lambda table: rollback_to_snapshot(table, 2),
    "expire": lambda table: expire_snapshots(table, Retention(1, 1, 2**62, 100)),
    "orphans": _orphans,
    "purge": purge,
}


@pytest.mark.parametrize(("what", "text"), CASES, ids=lambda value: ascii(value)[1:-1])
def test_no_name_leads_out_of_a_table(world: World, what: str, text: str) -> None:
    attack, _ = ATTACKS[what]
    attack(world, world.texts(text))
    refused = set()
    for name, operation in OPERATIONS.items():
        try:
            operation(fresh(world.table))
        except UnsafePathError:
            refused.add(name)
        except PaimonError:
            pass
    assert refused, "nothing was refused"


def test_names_from_catalogs_and_statements_lead_nowhere_else(world: World) -> None:
    for name in ("a/../../../b", "a/b", "a\\b"):
        for attempt in (
            lambda name=name: replace(world.table, branch=name).snapshots.latest(),
            lambda name=name: world.table.tags.get(name),
            lambda name=name: world.table.consumers.find(name),
            lambda name=name: create_branch(world.table, name),
        ):
            with pytest.raises(InvalidInputError):
                attempt()


@pytest.mark.parametrize("prefix", ["../data-", "/tmp/data-", "a\\"])
def test_a_prefix_of_files_names_no_directory(prefix: str) -> None:
    with pytest.raises(InvalidInputError, match="prefix of files"):
        FileNamer(prefix)


def _external(tmp_path: Path, root: str, file_io: FileIO) -> tuple[Table, Path]:
    """A table whose data files were moved below an external directory, which its options name as ``root``."""
    table = make_table(tmp_path / "wh" / "t", {"data-file.external-paths": root}, file_io=file_io)
    insert(table, (1, "a", "x"))
    file = next(Path(table.path, "bucket-0").iterdir())
    folder = tmp_path / "far" / "bucket-0" / entropy_directories(file.name)
    folder.mkdir(parents=True)
    moved = file.rename(folder / file.name)
    for path in Path(table.path, "manifest").glob("manifest-*"):
        if not path.name.startswith("manifest-list-"):
            entries = _with(read_manifest(path.read_bytes(), str(path)), "external_path", str(moved))
            path.write_bytes(write_manifest(entries, "zstd"))
    return fresh(table), moved


@pytest.mark.parametrize("root", ["/", "file:/", "file:///", "file://localhost/", "s3://", "{far}/..", "{far}/../far"])
def test_a_whole_file_system_is_no_external_directory(tmp_path: Path, root: str) -> None:
    PROCESS.clear_caches()
    table, moved = _external(tmp_path, root.format(far=tmp_path / "far"), LocalFileIO())
    PROCESS.clear_caches()
    latest = table.snapshots.latest()
    assert latest is not None
    with pytest.raises(UnsafePathError):
        rows_at(table, latest)
    with pytest.raises(UnsafePathError):
        purge(table)
    assert moved.exists()


def test_a_catalog_says_which_external_directories_count(tmp_path: Path) -> None:
    table, moved = _external(tmp_path, str(tmp_path / "far"), LocalFileIO())
    latest = table.snapshots.latest()
    assert latest is not None
    for allowed, counts in ((None, True), (f"/x, file:{tmp_path}/far/", True), (str(tmp_path), True), ("/x", False)):
        PROCESS.clear_caches()
        options = {} if allowed is None else {"external-paths.allowed-roots": allowed}
        opened = fresh(replace(table, access=ExternalAccess.of(options)))
        if counts:
            assert rows_at(opened, latest) == [(1, "a", "x")]
            continue
        with pytest.raises(UnsafePathError, match=r"external-paths.allowed-roots"):
            rows_at(opened, latest)
        stray = moved.with_name(f"data-{'0' * 8}-0000-0000-0000-{'0' * 12}-0.parquet")
        stray.write_bytes(b"")
        os.utime(stray, (0, 0))
        with pytest.raises(PaimonError, match=r"is in no directory of the table"):
            _orphans(opened)
        assert stray.exists()


def test_made_up_numbers_of_snapshots_are_no_endless_search(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=["id"])
    for i in range(3):
        insert(table, (i, "a", "x"))
    folder = Path(table.path, "snapshot")
    (folder / "LATEST").write_text(str(2**63 - 3))
    (folder / f"snapshot-{'9' * 200}").write_text("{}")
    directory = table.snapshots.directory
    assert [len(gap) for gap in directory.missing()] == [2**63 - 3 - 3]
    (folder / f"snapshot-{2**62}").write_text((folder / "snapshot-3").read_text().replace('"id": 3', f'"id": {2**62}'))
    opened = fresh(table)
    first = opened.snapshots.get(1)
    found = SnapshotView(opened.snapshots).at_time(first.time_millis)
    assert found is not None and found.id >= 1
    with pytest.raises(PaimonError):
        _orphans(fresh(table))
    with pytest.raises(InvalidInputError):
        give_up_before(fresh(table), 2)
    with pytest.raises(PaimonError):
        expire_snapshots(fresh(table), Retention(1, 1, 2**62, 100))
    (folder / "LATEST").unlink()
    with suppress(PaimonError):
        expire_snapshots(fresh(table), Retention(1, 1, 2**62, 100))


def test_members_that_are_amended_to_safe_names_are_read(world: World) -> None:
    """The attacks above change what they mean to: with names of real files the table is whole."""
    latest = world.table.snapshots.latest()
    assert latest is not None
    amend_latest(world.table, baseManifestList=latest.base_manifest_list)
    index = IndexManifestEntry(FileKind.ADD, EMPTY_ROW, 0, IndexFileMeta(HASH_INDEX, "index-a-0", 8, 2))
    assert read_index_manifest(write_index_manifest([index]), "f") == [index]
    assert len(rows_at(fresh(world.table), latest)) == 3

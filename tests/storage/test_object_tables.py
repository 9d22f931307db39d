"""Object tables: a folder's files as rows, one snapshot a refresh that finds something new."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import NotFoundError, UnsupportedError
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.procedures.base import Context
from paimon_sql.procedures.refresh.refresh_object_table import RefreshObjectTable
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS
from paimon_sql.storage.object_tables.refresh import Refreshed, list_objects, refresh
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.schema.validation import problems
from paimon_sql.storage.table.table import Table
from tests.procedures.rows import rows_of

_NAME = Identifier("db", "o")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with three files at two depths, and some that are hidden."""
    folder = tmp_path / "objects"
    for name in ("a.txt", "sub/b.png", "sub/deep/c.png", "_hidden/d.png", ".e"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture
def catalog(tmp_path: Path, place: Path) -> FileSystemCatalog:
    """A catalog with the object table ``db.o``."""
    made = FileSystemCatalog("paimon", {"warehouse": str(tmp_path / "warehouse")})
    made.create_database("db", {})
    made.create_table(_NAME, definition(str(place)))
    return made


def definition(place: str | None) -> TableSchema:
    location = {} if place is None else {"object-location": place}
    return new_schema(OBJECT_FIELDS, options={"type": "object-table", "write-only": "true", **location})


def rows(table: Table) -> list[tuple[Any, ...]]:
    names = table.schema.names
    batches = [b for split in plan_scan(table).splits for b in ReadTask(table, split, names).batches()]
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def found(catalog: FileSystemCatalog, **given: object) -> Refreshed:
    return refresh(catalog.table(_NAME), LocalFileIO(), 2, **given)  # type: ignore[arg-type]


def test_each_refresh_that_finds_something_new_is_a_snapshot(catalog: FileSystemCatalog, place: Path) -> None:
    assert rows(catalog.table(_NAME)) == []
    first = found(catalog)
    assert (first.objects, first.added, first.removed, first.changed) == (3, 3, 0, 0)
    assert first.bytes == len("a.txt" + "sub/b.png" + "sub/deep/c.png")
    time = 1_700_000_000_000
    assert rows(catalog.table(_NAME)) == [
        ("a.txt", "a.txt", 5, time, 0, None),
        ("sub/b.png", "b.png", 9, time, 0, None),
        ("sub/deep/c.png", "c.png", 14, time, 0, None),
    ]
    before = sorted(place.parent.rglob("*.parquet"))
    assert found(catalog).is_same
    assert catalog.table(_NAME).snapshots.latest_id() == 1
    assert sorted(place.parent.rglob("*.parquet")) == before  # what was written for nothing is gone
    (place / "a.txt").unlink()
    (place / "sub/b.png").write_text("changed")
    (place / "new").write_text("")
    dry = found(catalog, dry_run=True)
    assert (dry.added, dry.removed, dry.changed, dry.snapshot) == (1, 1, 1, None)
    second = found(catalog)
    assert (second.added, second.removed, second.changed) == (1, 1, 1)
    assert second.snapshot is not None and second.snapshot.id == 2
    assert [row[0] for row in rows(catalog.table(_NAME))] == ["new", "sub/b.png", "sub/deep/c.png"]
    old = catalog.table(_NAME).with_options({"scan.snapshot-id": "1"})
    assert [row[0] for row in rows(old)] == ["a.txt", "sub/b.png", "sub/deep/c.png"]


def test_an_emptied_folder_is_an_empty_table_and_a_missing_one_an_error(
    catalog: FileSystemCatalog, place: Path
) -> None:
    found(catalog)
    for file in [p for p in place.rglob("*") if p.is_file()]:
        file.unlink()
    assert found(catalog).removed == 3
    assert rows(catalog.table(_NAME)) == []
    moved = place.rename(place.parent / "elsewhere")
    with pytest.raises(NotFoundError, match="which does not exist"):
        found(catalog)
    assert moved.exists() and catalog.table(_NAME).snapshots.latest_id() == 2


def test_files_come_in_batches_whatever_the_folders(place: Path) -> None:
    many = place / "many"
    many.mkdir()
    for i in range(20):
        (many / f"{i}").touch()
    batches = list(list_objects(LocalFileIO(), str(place), 3, rows=4))
    assert [len(b) for b in batches] == [4, 4, 4, 4, 4, 3]
    assert len({path for b in batches for path in b["path"].to_pylist()}) == 23


def test_the_call_says_what_changed(catalog: FileSystemCatalog, place: Path) -> None:
    context = Context(catalog, "db")
    (planned,) = rows_of(context, "refresh_object_table", table="o", dry_run=True)
    assert tuple(planned.values())[:7] == (3, 3, 0, 0, 28, str(place), None)
    assert planned["note"] == "dry run, nothing was changed"
    row = RefreshObjectTable().call(context, RefreshObjectTable.Arguments(table="o"))
    assert (row.file_number, row.snapshot_id, row.note) == (3, 1, None)
    row = RefreshObjectTable().call(context, RefreshObjectTable.Arguments(table="o"))
    assert (row.snapshot_id, row.note) == (None, "nothing changed")
    catalog.create_table(Identifier("db", "t"), new_schema([DataField(0, "a", IntType())]))
    with pytest.raises(UnsupportedError, match="is not an object table"):
        RefreshObjectTable().call(context, RefreshObjectTable.Arguments(table="t"))


def test_no_rows_are_taken_and_a_definition_says_no_columns(catalog: FileSystemCatalog) -> None:
    with pytest.raises(UnsupportedError, match="its rows are the files of"):
        writable(catalog.table(_NAME))
    assert not list(problems(definition(None)))
    other = new_schema([DataField(0, "a", IntType())], options={"type": "object-table", "object-location": "/x"})
    assert "always the same" in str(next(iter(problems(other))))

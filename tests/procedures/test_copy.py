"""Tables copied file by file: every kind of table reads the same, and whatever fails leaves nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql import procedures
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, NoSuchTableError, PaimonError, UnsupportedError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import BigIntType, DataField
from paimon_sql.procedures.base import Context
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import COLUMNS, insert, on_disk, reachable

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"


@pytest.fixture
def catalog(tmp_path: Path) -> FileSystemCatalog:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    return catalog


def made(catalog: FileSystemCatalog, name: str = "src", *rows: tuple[Any, ...], **given: Any) -> Table:
    identifier = Identifier("d", name)
    catalog.create_table(identifier, new_schema(COLUMNS, **given))
    for row in rows:
        insert(catalog.table(identifier), row)
    return catalog.table(identifier)


def rows(table: Table) -> list[str]:
    found = []
    for split in plan_scan(table, snapshot=table.snapshots.latest()).splits:
        for batch in ReadTask(table, split, table.schema.names).batches():
            found += [str(list(row.values())) for row in batch.to_pylist()]
    return sorted(found)


def copy(where: Any, /, **given: Any) -> dict[str, Any]:
    (row,) = procedures.call(where, "copy", **given)
    return row


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden tables are not here")
@pytest.mark.parametrize("case", sorted(p.parent for p in GOLDEN.glob("*/expected.json")), ids=lambda p: p.name)
def test_every_kind_of_table_is_copied(case: Path, catalog: FileSystemCatalog) -> None:
    database, name = json.loads((case / "expected.json").read_text())["table"].split(".")
    golden = FileSystemCatalog("golden", {"warehouse": str(case / "warehouse")})
    source = golden.table(Identifier(database, name))
    context = Context(catalog, others={"golden": golden})
    done = copy(context, source_table=f"golden.{database}.{name}", target_table=f"copies.{name}")
    target = catalog.table(Identifier("copies", name))
    held = live_files(source, source.snapshots.latest()).entries
    assert done["copied_files"] == len(held)
    assert reachable(target) == on_disk(target)
    if not len(held):
        return
    try:
        expected = rows(source)
    except UnsupportedError:
        expected = []  # its rows lie in several files; the copy's files do so too
        assert sorted(pair for pair in zip(*ids(source), strict=True)) == sorted(zip(*ids(target), strict=True))
    else:
        assert rows(target) == expected
    assert target.snapshots.directory.versions() == [1]
    if len(expected):
        again = copy(context, source_table=f"golden.{database}.{name}", target_table=f"copies.{name}_2")
        assert again["copied_bytes"] == done["copied_bytes"]


def ids(table: Table) -> tuple[list[int], list[int]]:
    held = live_files(table, table.snapshots.latest()).entries
    return held["first_row_id"].to_pylist(), held["row_count"].to_pylist()


def test_a_copy_stands_for_itself(catalog: FileSystemCatalog) -> None:
    source = made(catalog, "src", (1, "a", "p"), (2, "b", "q"), partition_keys=["p"])
    done = copy(catalog, source_table="d.src", target_table="d.copy")
    assert (done["copied_files"], done["partitions"], done["snapshot_id"], done["copied_records"]) == (2, 2, 1, 2)
    catalog.drop_table(Identifier("d", "src"))
    assert rows(catalog.table(Identifier("d", "copy"))) == ["[1, 'a', 'p']", "[2, 'b', 'q']"]
    assert source.file_io.exists(source.path) is False


def test_chosen_partitions_replace_theirs_in_a_table_that_exists(catalog: FileSystemCatalog) -> None:
    made(catalog, "src", (1, "a", "p"), (2, "b", "q"), partition_keys=["p"])
    made(catalog, "t", (7, "x", "p"), (8, "y", "r"), partition_keys=["p"])
    done = copy(catalog, source_table="d.src", target_table="d.t", where="p = 'p'")
    assert (done["copied_files"], done["snapshot_id"]) == (1, 3)
    assert rows(catalog.table(Identifier("d", "t"))) == ["[1, 'a', 'p']", "[8, 'y', 'r']"]
    copy(catalog, source_table="d.src", target_table="d.t", where="p = 'p'")
    assert rows(catalog.table(Identifier("d", "t"))) == ["[1, 'a', 'p']", "[8, 'y', 'r']"]


def test_a_table_without_partitions_is_replaced_whole(catalog: FileSystemCatalog) -> None:
    made(catalog, "src", (1, "a", "p"))
    made(catalog, "t", (7, "x", "p"))
    copy(catalog, source_table="d.src", target_table="d.t")
    assert rows(catalog.table(Identifier("d", "t"))) == ["[1, 'a', 'p']"]


def test_files_of_older_schemas_are_read_under_theirs(catalog: FileSystemCatalog) -> None:
    made(catalog, "src", (1, "a", "p"))
    change = DataField(3, "n", BigIntType())
    for _ in range(2):  # the version in between has no file
        catalog.alter_table(
            Identifier("d", "src"), lambda s: replace(s, id=s.id + 1, fields=(*COLUMNS, change), highest_field_id=3)
        )
    copy(catalog, source_table="d.src", target_table="d.copy")
    target = catalog.table(Identifier("d", "copy"))
    assert target.schemas.ids() == [0, 1]
    assert rows(target) == ["[1, 'a', 'p', None]"]
    with pytest.raises(InvalidInputError, match="no schema with the columns of schema"):
        made(catalog, "other", (1, "a", "p"))
        copy(catalog, source_table="d.src", target_table="d.other")


def test_row_ids_stay_and_new_rows_get_others(catalog: FileSystemCatalog) -> None:
    made(catalog, "src", (1, "a", "p"), (2, "b", "p"), options={"row-tracking.enabled": "true"})
    copy(catalog, source_table="d.src", target_table="d.copy")
    target = catalog.table(Identifier("d", "copy"))
    insert(target, (3, "c", "p"))
    assert sorted(ids(replace(target))[0]) == [0, 1, 2]
    with pytest.raises(InvalidInputError, match="has its own row ids"):
        copy(catalog, source_table="d.src", target_table="d.copy")


def test_a_branch_is_copied(catalog: FileSystemCatalog) -> None:
    made(catalog, "src", (1, "a", "p"))
    procedures.call(catalog, "create_tag", table="d.src", tag="one")
    procedures.call(catalog, "create_branch", table="d.src", branch="b", tag="one")
    insert(catalog.table(Identifier("d", "src", "b")), (2, "b", "p"))
    copy(catalog, source_table="d.`src$branch_b`", target_table="d.copy")
    assert rows(catalog.table(Identifier("d", "copy"))) == ["[1, 'a', 'p']", "[2, 'b', 'p']"]


def test_a_dry_run_tells_what_is_copied(catalog: FileSystemCatalog) -> None:
    made(catalog, "src", (1, "a", "p"))
    planned = copy(catalog, source_table="d.src", target_table="new.copy", dry_run=True)
    assert not catalog.database_exists("new")
    done = copy(catalog, source_table="d.src", target_table="new.copy")
    same = ("copied_files", "copied_bytes", "copied_records", "partitions", "source_snapshot_id")
    assert [planned[n] for n in same] == [done[n] for n in same]
    assert planned["note"] == "dry run, nothing was changed; paimon.new.copy is created"


def test_an_empty_table_is_copied_as_such(catalog: FileSystemCatalog) -> None:
    made(catalog, "src")
    done = copy(catalog, source_table="d.src", target_table="d.copy")
    assert (done["snapshot_id"], done["note"]) == (None, "paimon.d.copy is created; there are no rows to copy")
    assert catalog.table_exists(Identifier("d", "copy"))


@pytest.mark.parametrize(
    ("given", "target", "said"),
    [
        ({}, "d.src", "into itself"),
        ({"primary_keys": ["id"], "options": {"bucket": "1"}}, "d.other", "primary keys"),
        ({"partition_keys": ["p"]}, "d.other", "partition columns"),
        ({"options": {"bucket": "2", "bucket-key": "id"}}, "d.other", "bucket keys and 'bucket'"),
        ({}, "d.`src$files`", "not a table that files can be copied to"),
        ({}, "nowhere.d.t", "not a table of catalog"),
    ],
)
def test_a_target_that_does_not_fit_is_refused(
    catalog: FileSystemCatalog, given: dict[str, Any], target: str, said: str
) -> None:
    made(catalog, "src", (1, "a", "p"))
    made(catalog, "other", **given)
    with pytest.raises(PaimonError, match=said):
        copy(catalog, source_table="d.src", target_table=target)


def test_a_copy_that_fails_leaves_nothing(catalog: FileSystemCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    source = made(catalog, "src", *((i, "a", "p") for i in range(3)))
    gone = next(p for p in on_disk(source) if "bucket-0" in p)
    Path(gone).unlink()
    with pytest.raises(PaimonError, match="files of the snapshot were deleted"):
        copy(catalog, source_table="d.src", target_table="d.copy")
    assert not catalog.table_exists(Identifier("d", "copy"))
    existing = made(catalog, "t", (9, "z", "p"))
    before = on_disk(existing)
    with pytest.raises(PaimonError, match="were deleted while"):
        copy(catalog, source_table="d.src", target_table="d.t")
    assert on_disk(existing) == before

    def full(self: LocalFileIO, path: str, data: bytes, *, locked: bool = False) -> bool:
        raise PaimonError("the disk is full")

    Path(gone).write_bytes(b"x")
    monkeypatch.setattr(LocalFileIO, "try_create_exclusive", full)
    with pytest.raises(PaimonError, match="full"):
        copy(catalog, source_table="d.src", target_table="d.t")
    assert {p for p in on_disk(existing) if "/manifest/" not in p} == {p for p in before if "/manifest/" not in p}


def test_a_source_that_does_not_exist_is_named(catalog: FileSystemCatalog) -> None:
    with pytest.raises(NoSuchTableError, match="absent"):
        copy(catalog, source_table="d.absent", target_table="d.copy")

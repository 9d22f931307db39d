"""Global indexes built and dropped by calls without Spark: what they answer, and that dry runs change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_sql import procedures
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.metadata.index_manifest import source_snapshot
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.storage.execution.task_executor import running
from paimon_sql.storage.scan.global_index.entries import global_entries, meta_of
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import COLUMNS, insert

TRACKED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.fixture
def catalog(tmp_path: Path) -> FileSystemCatalog:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    catalog.create_table(Identifier("d", "t"), new_schema(COLUMNS, options=TRACKED, partition_keys=["p"]))
    catalog.create_table(Identifier("d", "plain"), new_schema(COLUMNS))
    for i in range(4):
        insert(table(catalog), (i, f"v{i}", "ab"[i % 2]))
    return catalog


def table(catalog: FileSystemCatalog) -> Table:
    return catalog.table(Identifier("d", "t"))


def files(catalog: FileSystemCatalog) -> set[Path]:
    return {p for p in Path(catalog.warehouse, "d.db").rglob("*") if p.is_file()}


def call(catalog: FileSystemCatalog, name: str, **arguments: Any) -> dict[str, Any]:
    (row,) = procedures.call(catalog, name, **{"table": "d.t", "index_column": "v", "index_type": "btree", **arguments})
    return row


def test_a_call_tells_what_it_built(catalog: FileSystemCatalog) -> None:
    before = files(catalog)
    planned = call(catalog, "create_global_index", dry_run=True)
    assert files(catalog) == before
    assert (planned["rows"], planned["new_files"], planned["snapshot_id"]) == (4, None, None)
    done = call(catalog, "create_global_index", options="btree-index.compression=zstd")
    assert (done["result"], done["rows"], done["new_files"], done["snapshot_id"], done["note"]) == (True, 4, 4, 5, None)
    assert done["new_bytes"] == sum(p.stat().st_size for p in files(catalog) if "-global-index-" in p.name)
    again = call(catalog, "create_global_index")
    assert (again["rows"], again["snapshot_id"], again["note"]) == (0, None, "all rows are indexed already")
    assert table(catalog).snapshots.latest_id() == 5
    assert not running()


def test_partitions_are_spelled_as_in_other_calls(catalog: FileSystemCatalog) -> None:
    assert call(catalog, "create_global_index", partitions="p=a;p=zz")["rows"] == 2
    assert call(catalog, "drop_global_index", partitions="p=b")["dropped_file_count"] == 0
    assert call(catalog, "create_global_index", index_type=" BTREE ")["rows"] == 2
    planned = call(catalog, "drop_global_index", partitions="p=b", dry_run=True)
    assert (planned["result"], planned["dropped_file_count"], planned["snapshot_id"]) == (True, 2, None)
    assert call(catalog, "drop_global_index", partitions="p=b")["dropped_file_count"] == 2
    assert call(catalog, "drop_global_index")["dropped_file_count"] == 2
    assert call(catalog, "drop_global_index")["note"] == "there is no such index"


@pytest.mark.parametrize("name", ["create_global_index", "drop_global_index"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"index_column": "nope"}, "has no column 'nope'"),
        ({"index_column": " , "}, "has no column"),
        ({"partitions": "q=1"}, "'q=1' is not a partition"),
        ({"table": "d.missing"}, "missing"),
    ],
)
def test_a_wrong_call_is_refused(catalog: FileSystemCatalog, name: str, given: dict[str, str], message: str) -> None:
    before = files(catalog)
    with pytest.raises(PaimonError, match=message):
        call(catalog, name, **given)
    assert files(catalog) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"table": "d.plain"}, "'row-tracking.enabled' = 'true'"),
        ({"index_type": "cuckoo"}, "Unknown global index type 'cuckoo'"),
        ({"index_type": "full-text"}, "native library"),
        ({"options": "btree-index.block=1"}, "btree-index.block"),
        ({"options": "btree-index.compression=lzo"}, "btree-index.compression"),
    ],
)
def test_what_cannot_be_built_is_refused(catalog: FileSystemCatalog, given: dict[str, str], message: str) -> None:
    before = files(catalog)
    with pytest.raises(PaimonError, match=message):
        call(catalog, "create_global_index", **given)
    assert files(catalog) == before


def test_the_type_must_be_given(catalog: FileSystemCatalog) -> None:
    with pytest.raises(InvalidInputError, match="index_type"):
        procedures.call(catalog, "create_global_index", table="d.t", index_column="v")


def test_an_index_goes_along_with_a_copy_and_is_known_to_be_older_than_its_changes(catalog: FileSystemCatalog) -> None:
    call(catalog, "create_global_index")
    (row,) = procedures.call(catalog, "copy", source_table="d.t", target_table="d.c")
    assert row["copied_index_files"] == 4
    copy = catalog.table(Identifier("d", "c"))
    (entry, *_) = global_entries(copy, copy.snapshots.latest())
    assert source_snapshot(meta_of(entry).source_meta) == 1
    assert Path(index_path(copy, entry)).exists()

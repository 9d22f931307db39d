"""compact_database: which tables are chosen, what each says, and that one that fails does not stop the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_sql import procedures
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.schema.schema import new_schema
from tests.storage.small_tables import COLUMNS, insert


@pytest.fixture
def catalog(tmp_path: Path) -> FileSystemCatalog:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    for database in ("shop", "web"):
        catalog.create_database(database, {})
        for name in ("a", "b_tmp"):
            identifier = Identifier(database, name)
            catalog.create_table(identifier, new_schema(COLUMNS, options={"compaction.min.file-num": "2"}))
            for i in range(2):
                insert(catalog.table(identifier), (i, "v", "p"))
    return catalog


def compact(catalog: FileSystemCatalog, **given: Any) -> dict[str, Any]:
    (row,) = procedures.call(catalog, "compact_database", **given)
    return row


def test_all_tables_are_compacted_and_each_says_how(catalog: FileSystemCatalog) -> None:
    done = compact(catalog)
    assert done["result"] == "Compact database finished. Success: 4, Failed: 0"
    assert (done["compacted_tables"], done["failed_tables"]) == (4, 0)
    assert (done["compacted_files"], done["new_files"]) == (8, 4)
    assert done["tables"].splitlines() == [
        f"{name}: 2 files into 1, snapshot 3" for name in ("shop.a", "shop.b_tmp", "web.a", "web.b_tmp")
    ]
    assert catalog.run_log is not None
    assert catalog.run_log.runs()[0].counts["compacted_files"] == 8
    again = compact(catalog)
    assert (again["compacted_tables"], again["note"]) == (0, "no bucket has files to merge")
    assert again["result"] == done["result"]


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({"including_databases": "shop"}, ["shop.a", "shop.b_tmp"]),
        ({"including_databases": "sho"}, []),
        ({"including_databases": "shop|web", "excluding_tables": ".*_tmp"}, ["shop.a", "web.a"]),
        ({"including_tables": r"web\..*", "excluding_tables": " "}, ["web.a", "web.b_tmp"]),
        ({"including_tables": "a"}, []),
    ],
)
def test_expressions_match_whole_names(catalog: FileSystemCatalog, given: dict[str, str], chosen: list[str]) -> None:
    planned = compact(catalog, **given, dry_run=True)
    done = compact(catalog, **given)
    for answer in (planned, done):
        assert [line.partition(":")[0] for line in (answer["tables"] or "").splitlines()] == chosen
    same = ("result", "compacted_tables", "failed_tables", "compacted_files", "compacted_bytes")
    assert [planned[n] for n in same] == [done[n] for n in same]
    assert done["note"] == (None if chosen else "the expressions match no table")


def test_a_table_that_cannot_be_read_does_not_stop_the_others(catalog: FileSystemCatalog, tmp_path: Path) -> None:
    for manifest in (tmp_path / "shop.db" / "a" / "manifest").iterdir():
        manifest.write_bytes(b"")
    done = compact(catalog)
    assert done["result"] == "Compact database finished. Success: 3, Failed: 1"
    assert (done["compacted_tables"], done["failed_tables"]) == (3, 1)
    assert done["tables"].startswith("shop.a: failed: ")


def test_what_is_wrong_for_all_is_told_at_once(catalog: FileSystemCatalog) -> None:
    with pytest.raises(InvalidInputError, match="excluding_tables: '\\('"):
        compact(catalog, excluding_tables="(")
    with pytest.raises(InvalidOptionError, match="nosuch"):
        compact(catalog, options="nosuch=1")

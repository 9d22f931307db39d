"""The tables of the database sys over catalogs made here: their rows, which tables they open, broken tables."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Comparison, In, Or, Predicate, all_of
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.system_tables import catalog_tables
from paimon_sql.system_tables.base import View
from tests.storage import commits

FIELDS = (DataField(0, "id", t.IntType(False)), DataField(1, "dt", t.string_type()))


class Watched(FileSystemCatalog):
    """A catalog that remembers which tables were opened and which databases were listed."""

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        super().__init__(name, options)
        self.opened: list[str] = []
        self.listed: list[str] = []

    def any_table(self, identifier: Identifier) -> AnyTable:
        self.opened.append(str(identifier))
        return super().any_table(identifier)

    def list_tables(self, database: str) -> list[str]:
        self.listed.append(database)
        return super().list_tables(database)


@pytest.fixture
def catalog(tmp_path: Path) -> Watched:
    """The tables ``d.a``, partitioned with two partitions, and ``d.b`` and ``e.a``, empty and keyed."""
    made = Watched("lake", {"warehouse": str(tmp_path)})
    for database in ("d", "e"):
        made.create_database(database, {})
    table = made.create_table(Identifier("d", "a"), new_schema(FIELDS, partition_keys=("dt",), options={"owner": "me"}))
    insert(table, [1, 2], ["x", "x"])
    insert(table, [3], [None])
    for name in (Identifier("d", "b"), Identifier("e", "a")):
        made.create_table(name, new_schema(FIELDS, primary_keys=("id",), options={"bucket": "1"}))
    made.opened.clear()
    made.listed.clear()
    return made


def insert(table: Table, ids: list[int], days: list[str | None]) -> None:
    schema = arrow_schema(table.schema.fields)
    batch = pa.RecordBatch.from_arrays([pa.array(ids, pa.int32()), pa.array(days, pa.string())], schema=schema)
    commits.append(table, plan_write(table).run([batch]))


def rows(catalog: FileSystemCatalog, name: str, predicate: Predicate | None = None, *columns: str) -> list[Any]:
    table = catalog_tables()[name]
    found = table.rows(View(catalog), predicate)
    assert found.schema == arrow_schema(table.columns)
    return [tuple(r.values()) for r in found.select(list(columns) or found.column_names).to_pylist()]


def equals(column: str, value: str) -> Predicate:
    return Comparison(column, "=", pa.scalar(value))


def broken(catalog: FileSystemCatalog, name: str) -> None:
    (Path(catalog.warehouse) / "d.db" / name / "schema" / "schema-0").write_bytes(b"{")


def test_tables_tell_their_kind(catalog: Watched) -> None:
    found = rows(catalog, "tables", None, "database_name", "table_name", "table_type", "partitioned", "primary_key")
    assert found == [
        ("d", "a", "table", True, False),
        ("d", "b", "table", False, True),
        ("e", "a", "table", False, True),
    ]
    assert rows(catalog, "tables", equals("table_name", "a"), "owner", "record_count") == [("me", None), (None, None)]


def test_audit_options_that_are_no_numbers_are_null(catalog: Watched) -> None:
    options = {"created_at": "1700000000000", "updated_at": "9" * 30, "created_by": "you"}
    for i, key in enumerate(options):
        name = Identifier("e", f"t{i}")
        catalog.create_table(name, new_schema(FIELDS, options={key: options[key]}))
    wanted = equals("database_name", "e")
    assert rows(catalog, "tables", wanted, "created_at", "created_by", "updated_at")[1:] == [
        (1700000000000, None, None),
        (None, None, None),
        (None, "you", None),
    ]


def test_partitions_of_partitioned_tables_are_listed(catalog: Watched) -> None:
    found = rows(catalog, "partitions", None, "table_name", "partition_name", "record_count", "file_count", "done")
    assert found == [("a", "dt=__DEFAULT_PARTITION__", 1, 1, False), ("a", "dt=x", 2, 1, False)]
    newest = catalog.table(Identifier("d", "a")).snapshots.latest()
    assert newest is not None
    times = [made for (made,) in rows(catalog, "partitions", None, "last_file_creation_time")]
    assert all(0 <= newest.time_millis - made < 300_000 for made in times)


def test_options_hold_the_folder(catalog: Watched) -> None:
    assert rows(catalog, "all_table_options", equals("table_name", "b")) == [
        ("d", "b", "path", f"{catalog.warehouse}/d.db/b"),
        ("d", "b", "bucket", "1"),
    ]


def test_snapshots_tags_and_consumers_stand_behind_the_names_of_their_table(catalog: Watched) -> None:
    table = catalog.table(Identifier("d", "a"))
    create_tag(table, "first", 1)
    table.consumers.reset("job", 2)
    names = ("database_name", "table_name")
    assert rows(catalog, "snapshots", None, *names, "snapshot_id") == [("d", "a", 1), ("d", "a", 2)]
    assert rows(catalog, "tags", None, *names, "tag_name", "record_count") == [("d", "a", "first", 2)]
    assert rows(catalog, "consumers", None, *names, "consumer_id", "next_snapshot_id") == [("d", "a", "job", 2)]


@pytest.mark.parametrize("name", ["tables", "partitions", "all_table_options", "snapshots", "tags", "consumers"])
def test_only_tables_that_a_condition_names_are_opened(catalog: Watched, name: str) -> None:
    rows(catalog, name, all_of([equals("database_name", "d"), equals("table_name", "a")]))
    assert (catalog.listed, catalog.opened) == (["d"], ["d.a"])
    rows(catalog, name, In("table_name", pa.array(["b", "nothing"])))
    assert catalog.opened == ["d.a", "d.b"]
    # What a condition asks of other columns as well cannot spare a table.
    rows(catalog, name, Or((equals("table_name", "b"), Comparison("x", "=", pa.scalar(1)))))
    assert len(catalog.opened) == 5


def test_a_table_that_cannot_be_read_is_listed_by_its_names_and_hides_no_other(
    catalog: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    broken(catalog, "b")
    with caplog.at_level(logging.WARNING):
        found = rows(catalog, "tables", None, "database_name", "table_name", "table_type", "partitioned")
    assert found == [("d", "a", "table", True), ("d", "b", None, None), ("e", "a", "table", False)]
    assert "lake.d.b cannot be read" in caplog.text
    assert {r[1] for r in rows(catalog, "all_table_options")} == {"a"}
    assert len(rows(catalog, "partitions")) == len(rows(catalog, "snapshots")) == 2


def test_a_table_that_is_dropped_meanwhile_is_passed_over(
    catalog: Watched, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(catalog, "list_tables", lambda database: ["a", "gone"])
    assert rows(catalog, "tables", None, "database_name", "table_name") == [("d", "a"), ("e", "a")]
    assert not caplog.text


def test_catalog_options_are_shown_where_the_catalog_allows_it(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "fs.s3a.secret.key": "x", "fs.s3a.access-key": "y"}
    table = catalog_tables()["catalog_options"]
    assert not table.exists_in(FileSystemCatalog("lake", options))
    catalog = FileSystemCatalog("lake", {**options, "catalog-options-table.enabled": "true"})
    assert table.exists_in(catalog)
    assert rows(catalog, "catalog_options") == [
        ("catalog-options-table.enabled", "true"),
        ("fs.s3a.access-key", "******"),
        ("fs.s3a.secret.key", "******"),
        ("warehouse", str(tmp_path)),
    ]


def test_an_empty_catalog_has_empty_tables(tmp_path: Path) -> None:
    catalog = FileSystemCatalog("lake", {"warehouse": str(tmp_path)})
    for name in set(catalog_tables()) - {"catalog_options", "procedures"}:
        assert rows(catalog, name) == []

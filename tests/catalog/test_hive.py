"""Hive catalogs in a metastore of Hive's own: entries and files, what Hive sees, locks, and what is refused."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore.ttypes import FieldSchema

from paimon_sql.catalog.hive import client
from paimon_sql.catalog.hive.catalog import HiveCatalog
from paimon_sql.catalog.hive.environment import HivePartitions
from paimon_sql.catalog.hive.layout.column_types import hive_type, paimon_type
from paimon_sql.catalog.hive.layout.tables import EXTERNAL, MANAGED, is_external, new_entry
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.registry import open_catalog
from paimon_sql.errors import (
    CatalogUnavailableError,
    CommitConflictError,
    CorruptFileError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    NoSuchDatabaseError,
    NoSuchTableError,
    NoSuchViewError,
    SetupError,
    TableExistsError,
    UnsupportedError,
    ViewExistsError,
)
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.procedures import call
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, rename_tag
from tests.servers import Metastore
from tests.storage import core_tables as core

FIELDS = (t.DataField(0, "id", t.IntType(False)), t.DataField(1, "v", t.string_type()))
SCHEMA = new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"})
DAYS = (*FIELDS, t.DataField(2, "dt", t.string_type()))
LISTED = new_schema(DAYS, partition_keys=["dt"], options={"metastore.partitioned-table": "true"})
VIEW = ViewSchema(FIELDS, "SELECT 1, 'é'", {"spark": "SELECT 1, 'é'"}, "what it is", {"k": "v"})
T, U = Identifier("d", "t"), Identifier("d", "u")


@pytest.fixture
def catalog(hive: dict[str, str]) -> HiveCatalog:
    """A catalog with a database ``d``."""
    return opened(hive)


@pytest.fixture
def locking(hive: dict[str, str]) -> HiveCatalog:
    """A catalog with a lock and a database ``d``."""
    more = {"lock.enabled": "true", "lock-acquire-timeout": "1 s", "lock-check-max-sleep": "100 ms"}
    return opened(hive, **more)


def opened(options: dict[str, str], **more: str) -> HiveCatalog:
    """A catalog, with a database ``d`` if there was none."""
    catalog = HiveCatalog("lake", {**options, **more})
    if not catalog.database_exists("d"):
        catalog.create_database("d", {})
    return catalog


def entry(catalog: HiveCatalog, name: str = "t") -> Any:
    """What the metastore has of a table."""
    found = catalog.entries.get("d", name)
    assert found is not None
    return found


def partitions(metastore: Metastore, table: str = "t") -> list[str]:
    """The partitions that a client of Hive's sees."""
    with metastore.client() as asked:
        return sorted(asked.get_partition_names("d", table, -1))


def test_databases_have_properties(catalog: HiveCatalog, tmp_path: Path) -> None:
    catalog.create_database("e", {"comment": "it's", "a": "", "owner": "me"})
    assert catalog.list_databases() == ["d", "default", "e"]
    location = f"{catalog.warehouse}/e.db"
    wanted = {"location": location, "comment": "it's", "a": "", "owner": "me"}
    assert catalog.database_properties("e") == wanted
    catalog.alter_database("E", {"a": "x", "missing": None, "owner": "you"})
    assert catalog.database_properties("e") == {**wanted, "a": "x", "owner": "you"}
    with pytest.raises(UnsupportedError, match="did not change the comment of database e"):
        catalog.alter_database("e", {"a": "y", "comment": None})
    assert catalog.database_properties("e")["a"] == "x"
    catalog.alter_database("e", {"a": None})
    assert "a" not in catalog.database_properties("e")
    with pytest.raises(InvalidInputError, match="Database e cannot be moved"):
        catalog.alter_database("e", {"location": "/elsewhere"})
    with pytest.raises(DatabaseExistsError, match="Database D already exists in catalog lake"):
        catalog.create_database("D", {})
    for call_it in (catalog.database_properties, catalog.list_tables, catalog.list_views):
        with pytest.raises(NoSuchDatabaseError):
            call_it("nope")
    with pytest.raises(InvalidInputError, match="Hive's metastore rejected the request"):
        catalog.create_database("ü 😀", {})
    catalog.create_database("f", {"location": f"file:{tmp_path}/f"})
    assert catalog.create_table(Identifier("f", "t"), SCHEMA).path == f"{tmp_path}/f/t"
    catalog.drop_database("f", cascade=True)
    assert not (tmp_path / "f").exists() and not catalog.database_exists("f")


def test_a_table_is_an_entry_and_a_folder(catalog: HiveCatalog, metastore: Metastore) -> None:
    long = "x" * 300
    fields = (
        FIELDS[0],
        replace(FIELDS[1], description=f"a\nb{long}"),
        t.DataField(2, "Mixed", t.DecimalType(True, 5, 2)),
    )
    table = catalog.create_table(T, new_schema(fields, primary_keys=["id"], options={"bucket": "1"}, comment="é😀"))
    core.insert(table, (1, "a", None))
    assert table.path == f"{catalog.warehouse}/d.db/t"
    assert catalog.list_tables("d") == ["t"] and catalog.table_exists(T)
    assert core.rows(catalog.table(Identifier("d", "T"))) == [(1, "a", None)]
    seen = metastore.table("d", "t")
    assert [(c.name, c.type) for c in seen.sd.cols] == [("id", "int"), ("v", "string"), ("mixed", "decimal(5,2)")]
    assert not is_external(seen) and seen.sd.location == f"file:{table.path}"
    assert seen.sd.inputFormat == "org.apache.paimon.hive.mapred.PaimonInputFormat"
    assert seen.sd.outputFormat == "org.apache.paimon.hive.mapred.PaimonOutputFormat"
    assert seen.sd.serdeInfo.serializationLib == "org.apache.paimon.hive.PaimonSerDe"
    wanted = {
        "table_type": "PAIMON",
        "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler",
        "bucket": "1",
        "primary-key": "id",
        "bucket-key": "id",
        "comment": "é😀",
    }
    assert wanted.items() <= seen.parameters.items()
    assert seen.sd.cols[1].comment == f"a b{long}"[:252] + "..."
    with pytest.raises(TableExistsError, match=r"Table lake\.d\.t already exists"):
        catalog.create_table(T, SCHEMA)
    catalog.drop_table(T)
    assert not Path(table.path).exists() and catalog.list_tables("d") == []
    with pytest.raises(NoSuchTableError, match=r"Table lake\.d\.t does not exist"):
        catalog.drop_table(T)
    with pytest.raises(NoSuchDatabaseError):
        catalog.create_table(Identifier("nope", "t"), SCHEMA)


def test_what_hive_cannot_hold_is_refused_and_leaves_nothing(catalog: HiveCatalog) -> None:
    clash = new_schema([*FIELDS, t.DataField(2, "V", t.IntType())])
    with pytest.raises(InvalidSchemaError, match="The columns v and V differ only in case"):
        catalog.create_table(T, clash)
    with pytest.raises(InvalidInputError, match="Hive's metastore rejected the request"):
        catalog.create_table(Identifier("d", "t 😀"), SCHEMA)
    assert not any(Path(catalog.warehouse, "d.db").iterdir())
    catalog.create_table(T, SCHEMA)
    with pytest.raises(InvalidSchemaError):
        catalog.alter_table(T, lambda s: replace(s, id=1, fields=clash.fields, highest_field_id=2))
    assert catalog.table(T).schema.id == 0


def test_a_renamed_table_takes_its_files_along(catalog: HiveCatalog, metastore: Metastore) -> None:
    catalog.create_database("e", {})
    core.insert(catalog.create_table(T, SCHEMA), (1, "a"))
    core.insert(catalog.create_table(U, LISTED), (1, "a", "x"))
    with pytest.raises(TableExistsError):
        catalog.rename_table(T, U)
    catalog.rename_table(U, Identifier("d", "y"))
    with metastore.client() as asked:
        assert asked.get_partition("d", "y", ["x"]).sd.location == f"file:{catalog.warehouse}/d.db/y/dt=x"
    catalog.rename_table(Identifier("d", "y"), U)
    catalog.rename_table(T, Identifier("e", "W"))
    assert catalog.list_tables("d") == ["u"] and catalog.list_tables("e") == ["w"]
    moved = catalog.table(Identifier("e", "w"))
    assert core.rows(moved) == [(1, "a")] and moved.path == f"{catalog.warehouse}/e.db/w"
    Path(catalog.warehouse, "d.db", "x").mkdir()
    with pytest.raises(TableExistsError, match="cannot be renamed to"):
        catalog.rename_table(U, Identifier("d", "x"))
    assert catalog.list_tables("d") == ["u"]
    with pytest.raises(NoSuchTableError):
        catalog.rename_table(T, Identifier("d", "y"))
    with pytest.raises(NoSuchDatabaseError):
        catalog.rename_table(U, Identifier("nope", "x"))


def test_an_external_table_stands_anywhere_and_outlives_its_entry(catalog: HiveCatalog, tmp_path: Path) -> None:
    place = f"{tmp_path}/far/away"
    external = replace(SCHEMA, options={"bucket": "1", "path": f"file:{place}"})
    core.insert(catalog.create_table(T, external), (1, "a"))
    assert catalog.table(T).path == place and entry(catalog).tableType == EXTERNAL
    assert entry(catalog).parameters["EXTERNAL"] == "TRUE" and "path" not in catalog.table(T).schema.options
    catalog.rename_table(T, U)
    assert catalog.table(U).path == place
    catalog.drop_table(U)
    with pytest.raises(InvalidInputError, match="does not match the definition: it has other columns"):
        catalog.create_table(T, new_schema(FIELDS[:1], primary_keys=["id"], options=dict(external.options)))
    with pytest.raises(InvalidInputError, match="its options are not bucket=2"):
        catalog.create_table(T, replace(external, options={**external.options, "bucket": "2"}))
    assert catalog.list_tables("d") == []
    assert core.rows(catalog.create_table(T, external)) == [(1, "a")]
    catalog.drop_database("d", cascade=True)
    assert Path(place, "schema").exists()


def test_tables_are_external_where_the_catalog_or_an_option_says_so(hive: dict[str, str]) -> None:
    catalog = opened(hive, **{"table.type": "external"})
    table = catalog.create_table(T, SCHEMA)
    other = opened(hive).create_table(U, replace(SCHEMA, options={"bucket": "1", "external": "true"}))
    for name, path in (("t", table.path), ("u", other.path)):
        assert entry(catalog, name).tableType == EXTERNAL
        catalog.drop_table(Identifier("d", name))
        assert Path(path).exists()


def test_a_changed_definition_is_told(catalog: HiveCatalog) -> None:
    catalog.create_table(T, replace(SCHEMA, options={"bucket": "1", "write-only": "true"}))
    more = (*FIELDS, t.DataField(2, "n", t.BigIntType()))
    changed = catalog.alter_table(
        T, lambda s: replace(s, id=1, fields=more, highest_field_id=2, options={"bucket": "1"}, comment="c")
    )
    seen = entry(catalog)
    assert [c.name for c in seen.sd.cols] == ["id", "v", "n"] and "write-only" not in seen.parameters
    assert seen.parameters["comment"] == "c" and catalog.table(T).schema == changed
    catalog.alter_table(T, lambda s: replace(s, id=2, comment=None))
    assert "comment" not in entry(catalog).parameters


def test_a_change_that_hive_refuses_does_not_happen(catalog: HiveCatalog) -> None:
    catalog.create_table(T, SCHEMA)
    fewer = (FIELDS[0], t.DataField(2, "v", t.IntType()))
    with pytest.raises(InvalidInputError, match=r"hive\.metastore\.disallow\.incompatible\.col\.type\.changes"):
        catalog.alter_table(T, lambda s: replace(s, id=1, fields=fewer, highest_field_id=2))
    assert catalog.table(T).schema.id == 0 and [c.type for c in entry(catalog).sd.cols] == ["int", "string"]


def test_a_change_that_cannot_be_kept_is_taken_back(catalog: HiveCatalog) -> None:
    table = catalog.create_table(T, SCHEMA)
    Path(table.path, "schema", "schema-0").chmod(0o444)

    def change(schema: TableSchema) -> TableSchema:
        (Path(table.path) / "schema" / "schema-1").write_text("{")
        return replace(schema, id=1, comment="never")

    with pytest.raises(CorruptFileError):
        catalog.alter_table(T, change)
    (Path(table.path) / "schema" / "schema-1").unlink()
    catalog.adopt()
    assert "comment" not in entry(catalog).parameters


def test_options_of_tables_are_not_told_where_the_catalog_says_so(hive: dict[str, str]) -> None:
    catalog = opened(hive, **{"sync-all-properties": "false"})
    told = {"hive.x": "y", "partition.expiration-time": "1 d"}
    catalog.create_table(T, replace(LISTED, options={**told, "bucket": "-1"}))
    assert told.items() <= entry(catalog).parameters.items() and "bucket" not in entry(catalog).parameters


def test_places_may_stand_among_the_properties(hive: dict[str, str], metastore: Metastore) -> None:
    catalog = HiveCatalog("lake", {**hive, "location-in-properties": "true"})
    catalog.create_database("d", {})
    table = catalog.create_table(T, LISTED)
    core.insert(table, (1, "a", "x"))
    assert table.path == f"{catalog.warehouse}/d.db/t" and entry(catalog).parameters["paimon_location"] == table.path
    assert entry(catalog).sd.location == f"file:{metastore.warehouse}/d.db/t"
    catalog.rename_table(T, U)
    assert catalog.table(U).path == f"{catalog.warehouse}/d.db/u" and core.rows(catalog.table(U)) == [(1, "a", "x")]
    with metastore.client() as asked:
        (partition,) = asked.get_partitions("d", "u", -1)
    assert partition.parameters["paimon_location"].endswith("/u/dt=x")


def test_a_database_is_dropped_with_what_it_holds(catalog: HiveCatalog) -> None:
    core.insert(catalog.create_table(T, SCHEMA), (1, "a"))
    catalog.create_view(U, VIEW)
    with pytest.raises(DatabaseNotEmptyError, match="contains 2 tables and views, including t"):
        catalog.drop_database("d", cascade=False)
    kept = Path(catalog.warehouse, "d.db", "other")
    kept.mkdir()
    catalog.drop_database("d", cascade=True)
    assert catalog.list_databases() == ["default"] and list(kept.parent.iterdir()) == [kept]


def test_a_table_without_files_can_be_dropped(catalog: HiveCatalog) -> None:
    table = catalog.create_table(T, SCHEMA)
    catalog.file_io.delete_dir(table.path, recursive=True)
    with pytest.raises(CorruptFileError, match="its files are missing"):
        catalog.table(T)
    assert catalog.list_tables("d") == ["t"]
    catalog.drop_table(T)
    assert catalog.list_tables("d") == []


# Partitions


def test_partitions_are_listed_as_commits_fill_and_empty_them(catalog: HiveCatalog, metastore: Metastore) -> None:
    table = catalog.create_table(T, LISTED)
    assert [c.name for c in entry(catalog).sd.cols] == ["id", "v"]
    core.insert(table, (1, "a", "x"), (2, "b", "é/😀"), (3, "c", None))
    assert partitions(metastore) == ["dt=__DEFAULT_PARTITION__", "dt=x", "dt=é%2F😀"]
    with metastore.client() as asked:
        assert asked.get_partition("d", "t", ["x"]).sd.location == f"file:{table.path}/dt=x"
    core.insert(catalog.table(T), (4, "d", "x"))
    assert call(catalog, "create_branch", table="d.t", branch="b") and len(partitions(metastore)) == 3
    call(catalog, "delete_branch", table="d.t", branch="b")
    core.overwrite(catalog.table(T))
    assert partitions(metastore) == []


def test_partitions_are_marked_as_done_in_the_metastore(catalog: HiveCatalog, metastore: Metastore) -> None:
    options = {**LISTED.options, "partition.mark-done-action": "done-partition,mark-event"}
    core.insert(catalog.create_table(T, replace(LISTED, options=options)), (1, "a", "é/"), (2, "b", "y"))
    call(catalog, "mark_partition_done", table="d.t", partitions="dt=é/")
    assert partitions(metastore) == ["dt=y", "dt=é%2F", "dt=é%2F.done"] and catalog.adopt() == {}
    with metastore.client() as asked:
        assert asked.isPartitionMarkedForEvent("d", "t", {"dt": "é/"}, 1)
        assert not asked.isPartitionMarkedForEvent("d", "t", {"dt": "y"}, 1)
    core.overwrite(catalog.table(T))
    assert partitions(metastore) == []


def test_repair_lists_partitions_anew(catalog: HiveCatalog, metastore: Metastore) -> None:
    table = catalog.create_table(T, LISTED)
    core.insert(table, (1, "a", "x"), (2, "b", "y"))
    with metastore.client() as asked:
        asked.drop_partition("d", "t", ["x"], False)
    assert table.partition_registry is not None
    table.partition_registry.add([{"dt": "z"}])
    said = {"d.t": "its definition in Hive's metastore was corrected."}
    assert catalog.adopt(dry_run=True) == said and partitions(metastore) == ["dt=y", "dt=z"]
    assert catalog.adopt("d") == said and partitions(metastore) == ["dt=x", "dt=y"]
    assert catalog.adopt() == {}


def test_a_commit_stands_whose_partitions_could_not_be_listed(
    catalog: HiveCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = catalog.create_table(T, LISTED)
    listing = table.partition_registry
    assert isinstance(listing, HivePartitions)
    gone = client.Metastore((("127.0.0.1", 1),), "me", 1, 1.0)
    core.insert(
        replace(table, partition_registry=replace(listing, entries=replace(catalog.entries, metastore=gone))),
        (1, "a", "x"),
    )
    assert "partitions could not be registered in the metastore" in caplog.text and core.rows(table) == [(1, "a", "x")]


def test_tags_are_shown_as_partitions(catalog: HiveCatalog, metastore: Metastore) -> None:
    table = catalog.create_table(T, replace(SCHEMA, options={"bucket": "1", "metastore.tag-to-partition": "dt"}))
    core.insert(table, (1, "a"))
    table = catalog.table(T)
    for name in ("x", "y"):
        create_tag(table, name)
    rename_tag(table, "y", "z")
    assert partitions(metastore) == ["dt=x", "dt=z"]
    delete_tags(table, ["x"])
    assert partitions(metastore) == ["dt=z"]
    with pytest.raises(InvalidOptionError, match="can be set only when a table is created"):
        catalog.alter_table(T, lambda s: replace(s, id=1, options={"bucket": "1"}))
    assert catalog.adopt() == {}


# Views and tables of Hive's own


def test_views_are_entries(catalog: HiveCatalog) -> None:
    catalog.create_table(U, SCHEMA)
    catalog.create_view(T, VIEW)
    assert catalog.list_views("d") == ["t"] and catalog.list_tables("d") == ["u"]
    kept = catalog.view(T)
    nullable = tuple(replace(f, type=f.type.as_nullable()) for f in FIELDS)
    assert kept == replace(VIEW, fields=nullable, dialects={})
    with pytest.raises(ViewExistsError, match=r"View lake\.d\.t already exists"):
        catalog.create_view(T, VIEW)
    with pytest.raises(TableExistsError, match=r"View lake\.d\.t already exists"):
        catalog.create_table(T, SCHEMA)
    with pytest.raises(TableExistsError, match=r"Table lake\.d\.u already exists"):
        catalog.create_view(U, VIEW, replace=True)
    with pytest.raises(NoSuchTableError, match="is a view, not a table"):
        catalog.table(T)
    catalog.create_view(T, replace(VIEW, query="SELECT 2", dialects={}), replace=True)
    assert catalog.view(T).query == "SELECT 2"
    catalog.alter_view(T, lambda v: replace(v, comment=None))
    assert catalog.view(T).comment is None
    with pytest.raises(UnsupportedError, match="stores one query per view"):
        catalog.alter_view(T, lambda v: v.with_dialect("flink", "SELECT 3", is_new=True))
    catalog.rename_view(T, Identifier("d", "w"))
    with pytest.raises(TableExistsError):
        catalog.rename_view(Identifier("d", "w"), U)
    assert catalog.list_views("d") == ["w"]
    catalog.drop_view(Identifier("d", "w"))
    for refused in (catalog.view, catalog.drop_view):
        with pytest.raises(NoSuchViewError):
            refused(T)
    with pytest.raises(NoSuchViewError):
        catalog.drop_view(U)


def test_hive_s_tables_of_plain_files_are_format_tables(hive: dict[str, str], metastore: Metastore) -> None:
    catalog = opened(hive)
    schema = replace(LISTED, options={"type": "format-table", "file.format": "parquet"})
    made = catalog.create_any_table(T, schema)
    assert isinstance(made, FormatTable) and made.location == f"{catalog.warehouse}/d.db/t"
    seen = entry(catalog)
    assert seen.sd.serdeInfo.serializationLib == "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    assert [c.name for c in seen.partitionKeys] == ["dt"] and seen.parameters["table_type"] == "PARQUET"
    found = catalog.any_table(T).schema
    assert found.names == ("id", "v", "dt") and found.partition_keys == ("dt",)
    with pytest.raises(UnsupportedError, match="whose definition is managed by Hive"):
        catalog.alter_table(T, lambda s: replace(s, comment="x"))
    own = new_entry("d", "u", "me", MANAGED)
    own.sd.cols = [FieldSchema("a", "map<string,array<decimal(3,1)>>", "c"), FieldSchema("b", "struct<x:int>", None)]
    own.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    own.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    with metastore.client() as asked:
        asked.create_table(own)
        own.tableName, own.sd.serdeInfo.serializationLib = "v", "what"
        own.sd.inputFormat = "org.apache.hadoop.mapred.SequenceFileInputFormat"
        asked.create_table(own)
    assert catalog.list_tables("d") == ["t", "u"] and not catalog.table_exists(Identifier("d", "v"))
    text = catalog.any_table(U)
    assert (
        isinstance(text, FormatTable) and text.format == "csv" and text.schema.options["csv.field-delimiter"] == "\x01"
    )
    assert [str(f.type) for f in text.schema.fields[:1]] == ["MAP<STRING, ARRAY<DECIMAL(3, 1)>>"]
    assert opened(hive, **{"format-table.enabled": "false"}).list_tables("d") == []
    catalog.drop_table(U)
    catalog.drop_database("d", cascade=True)
    assert not catalog.database_exists("d")


@pytest.mark.parametrize(
    ("data_type", "name"),
    [
        (t.CharType(True, 300), "string"),
        (t.VarCharType(True, 7), "varchar(7)"),
        (t.TimeType(), "string"),
        (t.LocalZonedTimestampType(), "timestamp with local time zone"),
        (t.MultisetType(True, t.IntType()), "map<int,int>"),
        (t.VariantType(), "struct<value:binary,metadata:binary>"),
        (t.VectorType(True, t.FloatType(), 3), "array<float>"),
        (
            t.RowType(True, (t.DataField(0, "a", t.MapType(True, t.DateType(), t.BlobType())),)),
            "struct<a:map<date,binary>>",
        ),
    ],
)
def test_types_have_names_in_hive(data_type: t.DataType, name: str) -> None:
    assert hive_type(data_type) == name
    assert hive_type(paimon_type(name)) == name


@pytest.mark.parametrize("name", ["uniontype<int,string>", "interval_day_time", "nonsense", "array<", "varchar(70000)"])
def test_types_of_hive_s_own_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="is not supported"):
        paimon_type(name)


# Repair


def test_tables_of_a_warehouse_are_taken_up(hive: dict[str, str], metastore: Metastore) -> None:
    files = open_catalog("files", {"warehouse": hive["warehouse"]})
    files.create_database("d", {})
    core.insert(files.create_table(T, LISTED), (1, "a", "x"))
    catalog = HiveCatalog("lake", hive)
    assert catalog.adopt(dry_run=True).keys() == {"d.t"} and not catalog.database_exists("d")
    assert catalog.adopt() == {"d.t": "it was registered; its files were in the warehouse, but not in the catalog."}
    assert core.rows(catalog.table(T)) == [(1, "a", "x")] and partitions(metastore) == ["dt=x"]
    files.create_table(U, SCHEMA)
    with pytest.raises(InvalidInputError, match=r"CALL lake\.sys\.repair\('d\.u'\) registers it"):
        catalog.create_table(U, SCHEMA)
    assert call(catalog, "repair", database_or_table="d.u")[0]["result"]
    files.alter_table(U, lambda s: replace(s, id=1, comment="new"))
    assert catalog.adopt() == {"d.u": "its definition in Hive's metastore was corrected."}
    assert entry(catalog, "u").parameters["comment"] == "new"


# Locks and connections


def test_a_lock_keeps_others_away(locking: HiveCatalog) -> None:
    table = locking.create_table(T, SCHEMA)
    with table.lock.acquire("main") as held:
        assert held
        with pytest.raises(CommitConflictError, match=r"The lock of d\.t in Hive's metastore was held by others"):
            core.insert(locking.table(T), (1, "a"))
        with pytest.raises(CommitConflictError):
            locking.drop_table(T)
        with table.lock.acquire("b"):
            pass
    core.insert(locking.table(T), (1, "a"))
    assert core.rows(locking.table(T)) == [(1, "a")]
    with ThreadPoolExecutor(1) as pool, table.lock.acquire("main"):
        waiting = pool.submit(core.insert, locking.table(T), (2, "b"))
        time.sleep(0.3)
        assert not waiting.done()
    waiting.result()


def insert_many(options: dict[str, str], ids: Sequence[int]) -> None:
    """Commit rows, each by itself."""
    catalog = HiveCatalog("lake", options)
    for i in ids:
        core.insert(catalog.table(T), (i, "x"))


def test_commits_at_the_same_time_lose_nothing(hive: dict[str, str]) -> None:
    options = {**hive, "lock.enabled": "true"}
    catalog = opened(options)
    catalog.create_table(T, SCHEMA)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda first: insert_many(options, range(first, 20, 4)), range(4)))
    assert sorted(core.rows(catalog.table(T))) == [(i, "x") for i in range(20)]


def test_tables_cross_to_other_processes(locking: HiveCatalog) -> None:
    table = locking.create_table(T, SCHEMA)
    core.insert(pickle.loads(pickle.dumps(table)), (1, "parent"))
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=core.insert, args=(locking.table(T), (2, "child")))
    child.start()
    child.join()
    assert child.exitcode == 0
    core.insert(locking.table(T), (3, "parent"))
    assert sorted(core.rows(locking.table(T))) == [(1, "parent"), (2, "child"), (3, "parent")]


def test_a_connection_that_broke_is_made_anew(catalog: HiveCatalog) -> None:
    metastore = catalog.entries.metastore
    catalog.list_databases()
    kept, _ = client._pool().take(metastore)
    kept._socket.handle.shutdown(2)
    client._pool().give_back(metastore, kept)
    assert catalog.list_databases() == ["d", "default"]
    hasty = replace(metastore, idle_seconds=0)
    assert hasty.call("get_all_databases") == hasty.call("get_all_databases")


# Addresses


def test_servers_are_tried_in_turn(hive: dict[str, str]) -> None:
    catalog = HiveCatalog("lake", {**hive, "uri": f"thrift://127.0.0.1:1, {hive['uri']}"})
    assert catalog.list_databases() == ["default"]
    gone = HiveCatalog("lake", {**hive, "uri": "thrift://127.0.0.1:1"})
    with pytest.raises(CatalogUnavailableError, match=r"thrift://127\.0\.0\.1:1 does not answer: .*Check that it runs"):
        gone.list_databases()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"uri": ""}, "Catalog lake has no 'uri'"),
        ({"uri": "http://h:1"}, "'http://h:1' is not an address of a Hive metastore"),
        ({"uri": "thrift://h:port"}, "'thrift://h:port' is not an address"),
        ({"hive-conf-dir": "/nowhere"}, "hive-site.xml cannot be read"),
    ],
)
def test_addresses_that_name_no_metastore_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        HiveCatalog("lake", {"warehouse": "/w", "uri": "thrift://h:1", **options})


def test_what_is_not_said_comes_from_hive_s_own_configuration(tmp_path: Path) -> None:
    said = {"hive.metastore.uris": "thrift://a:1,thrift://b", "hive.metastore.warehouse.dir": f"{tmp_path}/w"}
    lines = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in said.items())
    (tmp_path / "hive-site.xml").write_text(f"<configuration>{lines}</configuration>")
    catalog = HiveCatalog("lake", {"hive-conf-dir": str(tmp_path)})
    assert catalog.warehouse == f"{tmp_path}/w" and catalog.entries.metastore.servers == (("a", 1), ("b", 9083))
    with pytest.raises(UnsupportedError, match="requires Kerberos"):
        HiveCatalog("lake", {"hive-conf-dir": str(tmp_path), "hive.metastore.sasl.enabled": "true"})


def test_a_client_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("paimon_sql.catalog.hive", "pymetastore"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pymetastore", None)
    with pytest.raises(SetupError, match=r"pip install 'paimon-sql\[hive\]'"):
        open_catalog("lake", {"metastore": "hive", "uri": "thrift://h", "warehouse": "/w"})

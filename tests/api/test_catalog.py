"""Catalogs of the Python API: databases, tables, definitions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table
from tests.api.conftest import ORDERS


def test_a_catalog_lists_and_opens_what_it_created(catalog: Catalog, keyed: Table, plain: Table) -> None:
    assert catalog.databases() == ["shop"]
    assert catalog.tables("shop") == ["keyed", "plain"]
    opened = catalog.table("shop.keyed")
    assert opened.name == "shop.keyed"
    assert opened.primary_key == ("id", "day") and opened.partition_by == ("day",)
    assert opened.options == {"bucket": "2"} and opened.comment == "by key"
    assert opened.schema.names == ORDERS.names
    assert not opened.schema.field("id").nullable and opened.schema.field("note").nullable


def test_a_table_is_opened_by_its_directory(keyed: Table) -> None:
    keyed.append([{"id": 1, "day": "a"}])
    assert paimon_sql.open_table(keyed.path).scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 1}]
    assert paimon_sql.open_table(Path(keyed.path)).name == "shop.keyed"
    with pytest.raises(errors.NoSuchTableError, match="There is no Paimon table at /tmp/nowhere"):
        paimon_sql.open_table("/tmp/nowhere")
    with pytest.raises(errors.NoSuchTableError):
        paimon_sql.open_table(Path(keyed.path).with_name("other"))


def test_tables_are_renamed_and_dropped(catalog: Catalog, plain: Table) -> None:
    plain.append([{"id": 1}])
    catalog.rename_table("shop.plain", "shop.other")
    assert catalog.tables("shop") == ["other"] and catalog.table("shop.other").scan().count() == 1
    catalog.drop_table("shop.other")
    assert catalog.tables("shop") == []
    with pytest.raises(errors.NoSuchTableError):
        catalog.table("shop.other")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("orders", "'orders' is not database.table"),
        (".orders", "is not database.table"),
        ("shop.", "is not database.table"),
        ("shop.keyed$files", "is a system table"),
    ],
)
def test_names_are_checked(catalog: Catalog, keyed: Table, name: str, says: str) -> None:
    with pytest.raises(errors.InvalidInputError, match=says):
        catalog.table(name)


def test_invalid_definitions_create_nothing(catalog: Catalog) -> None:
    with pytest.raises(errors.InvalidSchemaError, match="uint64 has no counterpart"):
        catalog.create_table("shop.t", pa.schema([("a", pa.uint64())]))
    with pytest.raises(errors.PaimonError, match="primary"):
        catalog.create_table("shop.t", pa.schema([("a", pa.int64())]), primary_key=["b"])
    with pytest.raises(errors.InvalidOptionError, match="bucket"):
        catalog.create_table("shop.t", pa.schema([("a", pa.int64())]), options={"bucket": "many"})
    assert catalog.tables("shop") == []


def test_all_types_of_arrow_that_paimon_has_are_columns(catalog: Catalog) -> None:
    kinds = {
        "b": pa.bool_(), "i1": pa.int8(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64(), "u4": pa.uint32(),
        "f4": pa.float32(), "f8": pa.float64(), "s": pa.large_string(), "x": pa.binary(), "x3": pa.binary(3),
        "d": pa.date32(), "t": pa.time64("us"), "ts": pa.timestamp("ms"), "tz": pa.timestamp("ns", "Asia/Tokyo"),
        "n": pa.decimal128(38, 5), "l": pa.list_(pa.struct([("k", pa.int32())])), "m": pa.map_(pa.string(), pa.int64()),
        "c": pa.dictionary(pa.int32(), pa.string()),
    }  # fmt: skip
    table = catalog.create_table("shop.types", pa.schema(kinds.items()))
    assert table.schema.field("u4").type == pa.int64()
    assert table.schema.field("c").type == pa.string()
    assert table.schema.field("ts").type == pa.timestamp("us")
    assert table.schema.field("tz").type == pa.timestamp("ns", "UTC")
    table.append([{"b": True, "n": None, "l": [{"k": 1}, None], "m": [("a", 1)], "s": "ß", "x3": b"abc"}])
    (row,) = table.to_arrow().to_pylist()
    assert row["l"] == [{"k": 1}, None] and row["m"] == [("a", 1)] and row["s"] == "ß" and row["x3"] == b"abc"


def test_options_of_the_catalog_are_defaults_of_tables(tmp_path: Path) -> None:
    catalog = paimon_sql.open_catalog(tmp_path, **{"table-default.file.format": "orc"})
    catalog.create_database("d")
    assert catalog.create_table("d.t", pa.schema([("a", pa.int64())])).options == {"file.format": "orc"}


def test_spark_is_not_imported(tmp_path: Path) -> None:
    program = (
        "import sys, pyarrow as pa, paimon_sql\n"
        f"c = paimon_sql.open_catalog({str(tmp_path)!r}); c.create_database('d')\n"
        "t = c.create_table('d.t', pa.schema([('a', pa.int64())]), primary_key=['a'])\n"
        "t.upsert([{'a': 1}]); t.delete('a = 1'); t.scan().to_arrow(); t.call('compact')\n"
        "print({'pyspark', 'py4j', 'polars', 'duckdb'} & sys.modules.keys())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"

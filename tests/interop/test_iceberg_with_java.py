"""Iceberg's readers see tables that Apache Paimon's Java connector and this one write in turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.iceberg.store import MetadataStore

from .iceberg_side import JavaIceberg, PyIceberg, current_file, in_order
from .java import JavaPaimon
from .test_java import rows_of

PLACES = {"table-location": "default.db/{}/metadata", "hadoop-catalog": "iceberg/default/{}/metadata"}


def metadata_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(current_file(folder).read_text())
    return found


@pytest.mark.parametrize("storage", PLACES)
@pytest.mark.parametrize("first", ["ours", "java"])
def test_an_append_table_is_seen_whoever_wrote_last(
    storage: str,
    first: str,
    spark: SparkSession,
    java: JavaPaimon,
    warehouse: Path,
    iceberg: JavaIceberg,
    pyiceberg: PyIceberg,
) -> None:
    name = f"ice_turns_{storage.split('-')[0]}_{first}"
    folder = warehouse / PLACES[storage].format(name)
    spark.sql(
        f"CREATE TABLE default.{name} (k INT, v STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES"
        f" ('metadata.iceberg.storage' = '{storage}', 'compaction.min.file-num' = '50')"
    )
    numbers = iter(range(1, 100))

    def ours() -> None:
        spark.sql(f"INSERT INTO default.{name} VALUES ({next(numbers)}, 'ours', 1)")

    def theirs() -> None:
        java.write(warehouse, f"default.{name}", [[next(numbers), "java", 2]])

    def ours_deletes() -> None:
        spark.sql(f"DELETE FROM default.{name} WHERE k % 3 = 0")

    def theirs_compacts() -> None:
        java.compact(warehouse, f"default.{name}")

    turns = [ours, theirs, ours, theirs, theirs, ours_deletes, theirs, theirs_compacts, ours, ours_deletes, theirs]
    uuids = set()
    for turn in turns if first == "ours" else [theirs, *turns]:
        turn()
        expected = in_order(rows_of(spark, f"default.{name}"))
        assert pyiceberg.read(folder) == expected
        assert iceberg.ask("file", str(current_file(folder)), "") == expected
        uuids.add(metadata_of(folder)["table-uuid"])
    assert len(uuids) == 1
    # Java spells paths otherwise than we do: once that is known, each goes on with the manifests of the other.
    assert next(s["snapshot-id"] for s in metadata_of(folder)["snapshots"]) == (3 if first == "ours" else 1)


def test_a_keyed_table_is_seen_whoever_compacted_it(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, iceberg: JavaIceberg
) -> None:
    folder = warehouse / "default.db/ice_turns_keyed"
    spark.sql(
        "CREATE TABLE default.ice_turns_keyed (k INT NOT NULL, v STRING) TBLPROPERTIES"
        " ('primary-key' = 'k', 'bucket' = '2', 'metadata.iceberg.storage' = 'table-location')"
    )

    def check() -> None:
        assert iceberg.read(folder) == in_order(rows_of(spark, "default.`ice_turns_keyed$ro`"))

    for turn in range(3):
        spark.sql(f"INSERT INTO default.ice_turns_keyed VALUES (1, 'ours{turn}'), ({turn + 10}, 'o')")
        check()
        java.write(warehouse, "default.ice_turns_keyed", [[1, f"java{turn}"], [turn + 20, "j"]])
        check()
        java.compact(warehouse, "default.ice_turns_keyed")
        check()
        spark.sql(f"DELETE FROM default.ice_turns_keyed WHERE k = {turn + 10}")
        spark.sql("CALL sys.compact(table => 'default.ice_turns_keyed')")
        check()
    assert MetadataStore(LocalFileIO(), str(folder / "metadata")).versions() == [
        spark.sql("SELECT max(snapshot_id) FROM default.`ice_turns_keyed$snapshots`").head()[0]
    ]


@pytest.mark.parametrize("keyed", [True, False])
def test_deletion_vectors_are_seen_whoever_wrote_them(
    keyed: bool, spark: SparkSession, java: JavaPaimon, warehouse: Path, iceberg: JavaIceberg
) -> None:
    name = f"ice_turns_vectors_{'keyed' if keyed else 'append'}"
    folder = warehouse / "default.db" / name
    key = "'primary-key' = 'k', 'bucket' = '1'," if keyed else ""
    spark.sql(
        f"CREATE TABLE default.{name} (k INT NOT NULL, v STRING) TBLPROPERTIES ({key}"
        " 'deletion-vectors.enabled' = 'true', 'deletion-vectors.bitmap64' = 'true',"
        " 'metadata.iceberg.format-version' = '3', 'metadata.iceberg.storage' = 'table-location')"
    )

    def check() -> None:
        assert iceberg.read(folder) == in_order(rows_of(spark, f"default.{name}"))

    for turn in range(3):
        spark.sql(f"INSERT INTO default.{name} VALUES ({turn * 10}, 'o'), ({turn * 10 + 1}, 'ours')")
        check()
        java.write(warehouse, f"default.{name}", [[turn * 10 + 2, "j"], [turn * 10 + 3, "java"]])
        java.compact(warehouse, f"default.{name}")
        spark.sql(f"DELETE FROM default.{name} WHERE k IN ({turn * 10}, {turn * 10 + 2})")
        check()
        spark.sql(f"UPDATE default.{name} SET v = 'changed' WHERE k = {turn * 10 + 3}")
        check()

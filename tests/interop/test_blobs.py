"""Columns of blobs: Java reads our files of blobs and references, and writes ones that we read.

Java 1.4.2 knows blobs by themselves and descriptors of them. Arrays and maps of blobs, views, and values that newer
files leave to older ones came later; pypaimon 2.1 knows them.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from .java import JavaPaimon
from .pypaimon_side import PyPaimon
from .test_pypaimon import assert_same, ours

_OPTIONS = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'compaction.min.file-num' = '2'"


def test_both_sides_write_and_read_blobs(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.blobs"
    spark.sql(
        f"CREATE TABLE {name} (id INT, b BINARY, t STRING, c BINARY) TBLPROPERTIES ({_OPTIONS},"
        " 'blob-field' = 'b,c', 'blob.target-file-size' = '20 kb', 'blob-compaction.enabled' = 'true')"
    )

    def both() -> list[list[object]]:
        rows = spark.sql(f"SELECT * FROM {name} ORDER BY id").collect()
        ours = [[f"0x{v.hex()}" if isinstance(v, bytearray | bytes) else v for v in row] for row in rows]
        assert sorted(java.read(warehouse, name)) == ours
        return ours

    spark.sql(
        f"INSERT INTO {name} SELECT id, IF(id % 3 = 0, NULL, CAST(repeat('x', id * 5000) AS BINARY)), concat('t', id),"
        " IF(id = 1, X'', X'0A') FROM range(0, 7, 1, 1)"
    )
    assert len(both()) == 7
    java.write(warehouse, name, [[7, "0x0102", "t7", None], [8, None, None, "0x"]])
    assert both()[7:] == [[7, "0x0102", "t7", None], [8, None, None, "0x"]]
    spark.sql(f"UPDATE {name} SET t = 'new' WHERE id IN (2, 8)")
    assert [row[2] for row in both()].count("new") == 2
    assert java.read(warehouse, name, "--columns", "t,id") == sorted([row[2], row[0]] for row in both())
    # What a newer file leaves to an older one Java 1.4.2 cannot read, until the files are put together.
    spark.sql(f"UPDATE {name} SET b = CAST(t AS BINARY) WHERE id IN (0, 2)")
    spark.sql(f"CALL sys.compact('{name}')")
    rows = both()
    assert rows[2][1] == "0x6e6577" and rows[1][1] == "0x" + "78" * 5000
    java.write(warehouse, name, [[9, "0x09", "t9", "0x09"]])
    assert len(both()) == 10
    spark.sql(f"DROP TABLE {name}")


def test_both_sides_follow_descriptors(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.described"
    (warehouse / "x").write_bytes(b"0123")
    spark.sql(
        f"CREATE TABLE {name} (id INT, d BINARY) TBLPROPERTIES ({_OPTIONS}, 'blob-field' = 'd',"
        " 'blob-descriptor-field' = 'd')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, sys.path_to_descriptor('{warehouse / 'x'}')), (2, NULL)")
    assert java.read(warehouse, name) == [[1, "0x30313233"], [2, None]]
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM {name} ORDER BY id").collect()] == [(1, b"0123"), (2, None)]
    spark.sql(f"DROP TABLE {name}")


def test_pypaimon_and_we_share_arrays_maps_and_changes_of_blobs(spark: SparkSession, pypaimon: PyPaimon) -> None:
    name = "default.py_blobs"
    spark.sql(
        f"CREATE TABLE {name} (id INT, b BINARY, a ARRAY<BINARY>, m MAP<STRING, BINARY>) TBLPROPERTIES ({_OPTIONS},"
        " 'blob-field' = 'b,a,m')"
    )
    spark.sql(
        f"INSERT INTO {name} VALUES (1, X'01', array(X'0A', NULL, X''), map('x', X'01', 'y', NULL)),"
        " (2, X'', array(), map()), (3, NULL, NULL, NULL)"
    )
    assert_same(pypaimon.read(name), ours(spark, name))
    spark.sql(f"UPDATE {name} SET b = X'FFFF', a = array(X'EE') WHERE id = 2")
    assert_same(pypaimon.read(name), ours(spark, name))
    pypaimon.write(name, ours(spark, name))
    assert spark.table(name).count() == 6
    assert_same(pypaimon.read(name), ours(spark, name))
    spark.sql(f"CALL sys.compact(table => '{name}', options => 'blob-compaction.enabled=true')")
    assert_same(pypaimon.read(name), ours(spark, name))
    spark.sql(f"DROP TABLE {name}")

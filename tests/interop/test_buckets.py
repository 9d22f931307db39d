"""Tables of every bucket mode, written and compacted by Java and by us in turns."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of


def test_dynamic_buckets_are_filled_by_both_sides(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.buckets_dynamic"
    options = "'primary-key' = 'k', 'bucket' = '-1', 'dynamic-bucket.target-row-num' = '3'"
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ({options})")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    java.write(warehouse, name, [[100, "java"], [101, "java"]], "--bucket", "1")
    spark.sql(f"INSERT INTO {name} VALUES (100, 'ours'), (4, 'ours'), (102, 'ours'), (103, 'ours')")
    java.write(warehouse, name, [[1, "java"]], "--bucket", "0")
    expected = [
        [1, "java"],
        [100, "ours"],
        [101, "java"],
        [102, "ours"],
        [103, "ours"],
        [2, "b"],
        [3, "c"],
        [4, "ours"],
    ]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected
    java.compact(warehouse, name)
    spark.sql(f"INSERT INTO {name} VALUES (101, 'last'), (104, 'last')")
    spark.sql(f"CALL sys.compact('{name}')")
    changed = [[104, "last"] if row is None else [101, "last"] if row[0] == 101 else row for row in [*expected, None]]
    assert rows_of(spark, name) == java.read(warehouse, name) == sorted(changed, key=str)
    indexed = java.read(warehouse, f"{name}$table_indexes")
    assert sum(int(row[5]) for row in indexed) == len(changed)


def test_keys_that_move_are_found_by_both_sides(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.buckets_cross_partition"
    clauses = "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-1')"
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING, p STRING) {clauses}")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y')")
    java.write(warehouse, name, [[4, "java", "y"], [3, "java", "y"]], "--bucket", "0")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'moved', 'z'), (4, 'moved', 'x')")
    expected = [[1, "moved", "z"], [2, "b", "x"], [3, "java", "y"], [4, "moved", "x"]]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected
    java.compact(warehouse, name)
    assert rows_of(spark, name) == java.read(warehouse, name) == expected


def test_waiting_rows_of_both_sides_are_compacted(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.buckets_postponed"
    options = (
        "'primary-key' = 'k', 'bucket' = '-2', 'postpone.batch-write-fixed-bucket' = 'false',"
        " 'postpone.default-bucket-num' = '2'"
    )
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ({options})")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    java.write(warehouse, name, [[3, "java"], [4, "java"]])
    spark.sql(f"INSERT INTO {name} VALUES (4, 'ours')")
    assert rows_of(spark, name) == java.read(warehouse, name) == []
    spark.sql(f"CALL sys.compact('{name}')")
    expected = [[1, "a"], [2, "b"], [3, "java"], [4, "ours"]]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected


def test_java_reads_and_writes_a_rescaled_table(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.buckets_rescaled"
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')")
    spark.sql(f"INSERT INTO {name} SELECT id, 'old' FROM range(10)")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('bucket' = '3')")
    spark.sql(f"CALL sys.rescale('{name}')")
    java.write(warehouse, name, [[7, "java"]])
    assert rows_of(spark, name) == java.read(warehouse, name)
    assert dict(rows_of(spark, name))[7] == "java"

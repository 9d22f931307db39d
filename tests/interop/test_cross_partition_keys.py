"""Keys that hold some or none of the partition columns: what Java wrote is found, and Java reads ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of


def test_rows_of_both_sides_are_told_apart_by_their_whole_key(
    spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    name = "default.cross_partition_keys"
    clauses = "PARTITIONED BY (day, city) TBLPROPERTIES ('primary-key' = 'k,day', 'bucket' = '-1')"
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING, day STRING, city STRING) {clauses}")
    java.write(
        warehouse, name, [[1, "java", "mo", "a"], [1, "java", "tu", "a"], [2, "java", "mo", "b"]], "--bucket", "0"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'moved', 'mo', 'b'), (2, 'ours', 'tu', 'b'), (3, 'ours', 'tu', 'a')")
    expected = [
        [1, "java", "tu", "a"],
        [1, "moved", "mo", "b"],
        [2, "java", "mo", "b"],
        [2, "ours", "tu", "b"],
        [3, "ours", "tu", "a"],
    ]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected
    java.compact(warehouse, name)
    spark.sql(f"INSERT INTO {name} VALUES (2, 'moved', 'mo', 'a')")
    expected[2] = [2, "moved", "mo", "a"]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected


@pytest.mark.parametrize("bucket", ["2", "-2"])
def test_with_fixed_and_postponed_buckets_a_key_stands_in_each_partition(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, bucket: str
) -> None:
    name = f"default.keys_in_partitions_{bucket.replace('-', 'postponed_')}"
    clauses = f"PARTITIONED BY (day) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '{bucket}')"
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING, day STRING) {clauses}")
    if bucket == "2":
        java.write(warehouse, name, [[1, "java", "mo"], [1, "java", "tu"], [2, "java", "mo"]])
    else:
        spark.sql(f"INSERT INTO {name} VALUES (1, 'java', 'mo'), (1, 'java', 'tu'), (2, 'java', 'mo')")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'ours', 'tu'), (2, 'ours', 'we'), (3, 'ours', NULL)")
    expected = [[1, "java", "mo"], [1, "ours", "tu"], [2, "java", "mo"], [2, "ours", "we"], [3, "ours", None]]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected
    if bucket == "2":
        java.compact(warehouse, name)
        java.write(warehouse, name, [[1, "again", "tu"], [3, "java", None]])
        expected = [[1, "again", "tu"], expected[0], *expected[2:4], [3, "java", None]]
    spark.sql(f"CALL sys.compact(table => '{name}')")
    assert rows_of(spark, name) == java.read(warehouse, name) == expected

"""Keys that hold some of the partition columns: the index is found out from what Java wrote, and Java reads ours."""

from __future__ import annotations

from pathlib import Path

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

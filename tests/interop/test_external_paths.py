"""Data files outside of a table's own directory: both sides write, read and compact them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of


@pytest.mark.parametrize("strategy", ["round-robin", "entropy-inject"])
def test_both_sides_find_each_others_files(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, tmp_path: Path, strategy: str
) -> None:
    name = f"default.external_{strategy.replace('-', '_')}"
    spark.sql(
        f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'num-levels' = '2',"
        f" 'data-file.external-paths' = 'file://{tmp_path}/a,file://{tmp_path}/b',"
        f" 'data-file.external-paths.strategy' = '{strategy}')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'ours'), (2, 'ours')")
    java.write(warehouse, name, [[2, "java"], [3, "java"]])
    expected = [[1, "ours"], [2, "java"], [3, "java"]]
    assert rows_of(spark, name) == java.read(warehouse, name) == expected
    java.compact(warehouse, name)
    spark.sql(f"INSERT INTO {name} VALUES (4, 'ours')")
    spark.sql(f"CALL sys.compact(table => '{name}')")
    assert rows_of(spark, name) == java.read(warehouse, name) == [*expected, [4, "ours"]]
    folders = set(tmp_path.rglob("data-*.parquet"))
    assert folders and all("bucket-0" in path.parts for path in folders)

"""Files that came as they are, into copies and migrated tables: Java reads them, and goes on writing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_java_reads_and_writes_a_copy(spark: SparkSession, java: JavaPaimon, warehouse: Path, vectors: str) -> None:
    name, copy = f"default.copied_{vectors}", f"default.copy_{vectors}"
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, v STRING, p STRING NOT NULL) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('primary-key'='p,k', 'bucket'='2', 'deletion-vectors.enabled'='{vectors}')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y')")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN n INT")
    spark.sql(f"INSERT INTO {name} VALUES (2, 'B', 'x', 2), (4, 'd', 'y', 4)")
    spark.sql(f"DELETE FROM {name} WHERE k = 1")
    spark.sql(f"CALL sys.copy('{name}', '{copy}')")
    expected = rows_of(spark, name)
    assert java.read(warehouse, copy) == rows_of(spark, copy) == expected
    java.write(warehouse, copy, [[2, "java", "x", 9]])
    assert java.read(warehouse, copy) == rows_of(spark, copy) != expected
    assert rows_of(spark, name) == expected


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_java_reads_and_writes_a_migrated_table(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, tmp_path: Path, kind: str
) -> None:
    name = f"default.plain_{kind}"
    folder = tmp_path / kind
    rows = spark.createDataFrame([(1, "a", "x"), (2, None, "x"), (3, "c", None)], "k INT, v STRING, p STRING")
    rows.write.partitionBy("p").format(kind).save(str(folder))
    spark.sql(f"CALL sys.migrate_table('{kind}', '{folder}', target_table => '{name}')")
    expected = [[1, "a", "x"], [2, None, "x"], [3, "c", None]]
    assert java.read(warehouse, name) == rows_of(spark, name) == expected
    java.write(warehouse, name, [[4, "java", "x"]])
    java.compact(warehouse, name)
    assert java.read(warehouse, name) == rows_of(spark, name) == [*expected, [4, "java", "x"]]

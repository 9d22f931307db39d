"""A materialized table is an ordinary one for Java's core; a snapshot of Java's makes the next refresh a whole one."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of


def test_java_reads_what_was_refreshed_and_its_rows_are_replaced(
    spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    source, name = "default.grown", "default.kept"
    spark.sql(f"CREATE TABLE {source} (k INT, v STRING)")
    spark.sql(f"INSERT INTO {source} VALUES (1, 'a')")
    spark.sql(f"CREATE MATERIALIZED TABLE {name} AS SELECT k, upper(v) AS v FROM {source}")
    java.write(warehouse, source, [[2, "b"]])
    ((mode,),) = spark.sql(f"ALTER MATERIALIZED TABLE {name} REFRESH").select("mode").collect()
    assert mode == "INCREMENTAL"
    assert java.read(warehouse, name) == rows_of(spark, name) == [[1, "A"], [2, "B"]]
    java.write(warehouse, name, [[9, "by hand"]])
    ((mode,),) = spark.sql(f"ALTER MATERIALIZED TABLE {name} REFRESH").select("mode").collect()
    assert mode == "FULL"
    assert java.read(warehouse, name) == rows_of(spark, name) == [[1, "A"], [2, "B"]]

"""Statistics of tables: Java reads those that ANALYZE TABLE made here, and Spark is told those that Java made."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from .java import JavaPaimon

COLUMNS = "id INT, n DECIMAL(10, 2), d DATE, t TIMESTAMP_NTZ, v STRING, f DOUBLE"


def found(spark: SparkSession, name: str) -> list[object]:
    asked = f"SELECT snapshot_id, mergedRecordCount, mergedRecordSize, colstat FROM {name}$statistics"
    (row,) = spark.sql(asked).collect()
    return [*row[:3], json.loads(row[3])]


def test_java_reads_our_statistics_with_their_values(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.analyzed_here"
    spark.sql(f"CREATE TABLE {name} ({COLUMNS})")
    spark.sql(
        f"INSERT INTO {name} VALUES (1, -2.5, DATE '1969-12-31', TIMESTAMP_NTZ '1950-06-07 00:00:00', 'ünï', 0.5),"
        " (2, 1.25, DATE '2024-02-29', TIMESTAMP_NTZ '2024-01-02 03:04:05.678901', '', -1e300),"
        " (3, NULL, NULL, NULL, NULL, NULL)"
    )
    spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS FOR ALL COLUMNS")
    told = java.statistics(warehouse, name)
    ours = found(spark, name)
    assert [told["snapshotId"], told["mergedRecordCount"], told["mergedRecordSize"], told["colStats"]] == ours


def test_spark_is_told_the_statistics_that_java_made(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.analyzed_there"
    spark.sql(f"CREATE TABLE {name} ({COLUMNS})")
    spark.sql(f"INSERT INTO {name} (id) SELECT id FROM range(1, 1001)")
    columns = {"id": {"colId": 0, "distinctCount": 1000, "min": "1", "max": "1000", "nullCount": 0}}
    given = {"snapshotId": 1, "schemaId": 0, "mergedRecordCount": 1000, "mergedRecordSize": 77_000, "colStats": columns}
    assert java.statistics(warehouse, name, given) == given
    assert found(spark, name) == [1, 1000, 77_000, columns]
    spark.sql("SET spark.sql.cbo.enabled = true")
    try:
        (plan,) = spark.sql(f"EXPLAIN COST SELECT * FROM {name} WHERE id > 900").collect()
    finally:
        spark.sql("RESET spark.sql.cbo.enabled")
    assert "rowCount=100)" in plan[0] or "rowCount=101)" in plan[0], plan[0]

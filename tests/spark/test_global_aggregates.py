"""A global aggregate gives exactly one row, whoever answers it and whether its values are used or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]

TABLES = {
    "append": "",
    "append, buckets": "'bucket' = '2', 'bucket-key' = 'a'",
    "append, vectors": "'deletion-vectors.enabled' = 'true'",
    "append, evolving": "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'",
    "append, Avro": "'file.format' = 'avro'",
    "deduplicate": "'primary-key' = 'a', 'bucket' = '1'",
    "deduplicate, vectors": "'primary-key' = 'a', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "partial-update": "'primary-key' = 'a', 'bucket' = '2', 'merge-engine' = 'partial-update', 'file.format' = 'orc'",
    "first-row": "'primary-key' = 'a', 'bucket' = '1', 'merge-engine' = 'first-row'",
}
AGGREGATES = ["count(*)", "max(a)", "min(a), max(b), count(b)", "sum(b), avg(a)", "count(DISTINCT a)"]
CONDITIONS = ["", " WHERE a = 1", " WHERE b > 1000"]


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("rows", ["", "(0, 1), (1, 2), (1, 3)"])
def test_of_any_table_there_is_one_row(sql: Sql, kind: str, rows: str) -> None:
    options = f" TBLPROPERTIES ({TABLES[kind]})" if TABLES[kind] else ""
    sql(f"CREATE TABLE t (a INT, b INT){options}")
    if rows:
        sql(f"INSERT INTO t VALUES {rows}")
        sql("INSERT INTO t VALUES (0, 5)")
    union = " UNION ALL ".join(
        f"SELECT (SELECT count(*) FROM ({one})) n, EXISTS ({one}) e"
        for one in (f"SELECT {aggregates} FROM t{condition}" for aggregates in AGGREGATES for condition in CONDITIONS)
    )
    assert set(sql(union)) == {(1, True)}
    assert sql("SELECT 1 FROM t HAVING true") == [(1,)]
    assert sql("SELECT v.x FROM VALUES (7), (8) AS v(x) CROSS JOIN (SELECT max(a) FROM t)") == [(7,), (8,)]
    assert sql("SELECT 1 FROM t WHERE a > 5 HAVING count(*) = 0") == [(1,)]


def test_of_partitions_and_metadata_there_is_one_row(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    for _ in range(2):
        for condition in ("", " WHERE p = 'x'", " WHERE p IS NULL"):
            assert sql(f"SELECT count(*) FROM (SELECT max(a) FROM t{condition})") == [(1,)]
            assert sql(f"SELECT 1 FROM t{condition} HAVING true") == [(1,)]
        sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    ((plan,),) = sql("EXPLAIN SELECT count(*) FROM (SELECT max(a) FROM t)")
    assert "BatchScan" not in str(plan)
    for table in ("t$files", "t$snapshots", "t VERSION AS OF 1"):
        assert sql(f"SELECT count(*) FROM (SELECT count(*) FROM {table})") == [(1,)]


def test_constants_are_no_columns_of_their_names(sql: Sql) -> None:
    sql("CREATE TABLE t (`1` INT, `true` BOOLEAN, nan DOUBLE, a INT)")
    sql("INSERT INTO t VALUES (7, false, 1.5, 3)")
    assert sql("SELECT max(1), count(a) FROM t") == [(1, 1)]
    assert sql("SELECT max(true), min(double('Infinity')), count(a) FROM t") == [(True, float("inf"), 1)]
    assert sql("SELECT max(`1`), max(`true`), max(nan) FROM t") == [(7, False, 1.5)]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_times_in_years_that_python_does_not_know(spark: SparkSession, sql: Sql, zone: str, file_format: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        options = f"'primary-key' = 'k', 'bucket' = '1', 'file.format' = '{file_format}'"
        sql(f"CREATE TABLE t (k INT, at TIMESTAMP, s STRING) TBLPROPERTIES ({options})")
        for text in ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"):
            sql(f"INSERT INTO t SELECT 1, TIMESTAMP '{text}', 'a'")
            assert sql("SELECT CAST(max(at) AS STRING), count(s) FROM t WHERE s <= 'b' AND k % 2 = 1") == [(text, 1)]
            assert sql(f"SELECT k FROM t WHERE at = TIMESTAMP '{text}' AND __paimon_bucket = 0") == [(1,)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")


def test_hidden_columns_of_partitions_of_texts_with_lengths(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, p VARCHAR(5), q CHAR(3)) PARTITIONED BY (p, q)")
    sql("INSERT INTO t VALUES (1, 'x', 'y'), (2, 'z', 'y')")
    assert sql("SELECT __paimon_partition.p, a FROM t WHERE __paimon_row_index = 0 AND p = 'x'") == [("x", 1)]
    sql("UPDATE t SET a = 5 WHERE a = 2")
    sql("DELETE FROM t WHERE a = 1")
    assert sql("SELECT * FROM t") == [(5, "z", "y  ")]

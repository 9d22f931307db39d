"""Partitions of format tables whose values are empty strings: they are those of NULL."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Sql


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv"])
def test_empty_strings_are_in_the_partition_of_null(spark: SparkSession, sql: Sql, kind: str) -> None:
    sql(f"CREATE TABLE t (a INT, p STRING, q INT) USING {kind} PARTITIONED BY (p, q)")
    sql("INSERT INTO t VALUES (1, NULL, 1), (2, '', 1), (3, NULL, 2), (4, '', 2), (5, 'b', 1), (6, '', 1)")
    expected = [(1, None, 1), (2, None, 1), (3, None, 2), (4, None, 2), (5, "b", 1), (6, None, 1)]
    assert sorted(sql("SELECT * FROM t")) == expected
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        sql("INSERT OVERWRITE t VALUES (7, '', 2), (8, NULL, 2), (9, 'b', 1)")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    expected = [(1, None, 1), (2, None, 1), (6, None, 1), (7, None, 2), (8, None, 2), (9, "b", 1)]
    assert sorted(sql("SELECT * FROM t")) == expected
    sql(f"CREATE TABLE copied USING {kind} PARTITIONED BY (q, p) AS SELECT a, q, IF(a % 2 = 0, '', p) AS p FROM t")
    assert sorted(sql("SELECT a, p, q FROM copied")) == expected
    assert sorted(sql("SHOW PARTITIONS copied")) == [("q=1/p=b",), ("q=1/p=null",), ("q=2/p=null",)]
    sql("INSERT INTO t VALUES (10, '', 9)")  # of which Spark knows that nothing is null
    assert sql("SELECT a, p FROM t WHERE q = 9") == [(10, None)]

"""Buckets of few rows: workers read several of them, one after the other."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Sql

BUCKETS = 12


@pytest.fixture
def table(sql: Sql) -> str:
    """A table of partitions with buckets, all of whose rows workers merge."""
    sql(
        "CREATE TABLE t (k INT, p INT, v STRING) PARTITIONED BY (p)"
        " TBLPROPERTIES ('primary-key'='k,p', 'bucket'='2', 'merge-engine'='partial-update')"
    )
    sql("INSERT INTO t SELECT id, id % 6, concat('v', id) FROM range(120)")
    sql("INSERT INTO t SELECT id, id % 6, IF(id % 7 = 0, concat('w', id), NULL) FROM range(120)")
    return "t"


def partitions(spark: SparkSession, query: str) -> int:
    return int(spark.sql(query).rdd.getNumPartitions())


def test_a_worker_reads_several_small_buckets(spark: SparkSession, sql: Sql, table: str) -> None:
    assert 1 < partitions(spark, f"SELECT * FROM {table}") <= 4
    expected = [(k, k % 6, f"{'w' if k % 7 == 0 else 'v'}{k}") for k in range(120)]
    assert sorted(sql(f"SELECT * FROM {table}")) == expected
    assert sql(f"SELECT count(*), count(DISTINCT v), max(k) FROM {table} WHERE v > 'v1'") == [
        (sum(v > "v1" for *_, v in expected), sum(v > "v1" for *_, v in expected), 119)
    ]


def test_each_is_read_alone_where_options_make_splits_as_small(spark: SparkSession, table: str) -> None:
    alone = (
        f"SELECT * FROM {table} /*+ OPTIONS('source.split.target-size'='1 b', 'source.split.open-file-cost'='1 b') */"
    )
    assert partitions(spark, alone) == BUCKETS


def test_one_partition_is_one_task(spark: SparkSession, sql: Sql, table: str) -> None:
    assert partitions(spark, f"SELECT * FROM {table} WHERE p = 3 AND v LIKE '%3'") <= 2
    assert sql(f"SELECT count(*) FROM {table} WHERE p = 3") == [(20,)]

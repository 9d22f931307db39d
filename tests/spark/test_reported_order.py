"""Rows of buckets whose files are one sorted run need no sort for a join by their key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.bucket_plans import plan_of, plan_of_right_answer

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = {
    "marking": "'write-only' = 'true'",
    "deletion vectors": "'deletion-vectors.enabled' = 'true'",
    "orc": "'file.format' = 'orc', 'write-only' = 'true'",
    "partial-update": "'merge-engine' = 'partial-update', 'write-only' = 'true'",
}
JOIN = "SELECT a.id, a.v, b.v FROM a JOIN b ON a.id = b.id"


pytestmark = pytest.mark.usefixtures("unchanging_plans")


def table(sql: Sql, name: str, kind: str, key: str = "INT", keys: str = "id", buckets: int = 4, more: str = "") -> None:
    sql(
        f"CREATE TABLE {name} (id {key}, n INT, v STRING) TBLPROPERTIES"
        f" ('primary-key' = '{keys}', 'bucket' = '{buckets}', 'bucket-key' = 'id', {KINDS[kind]}{more})"
    )


def filled(sql: Sql, name: str, kind: str, key: str = "INT", low: int = 0) -> None:
    """A table after two overlapping commits, compacted."""
    table(sql, name, kind, key)
    for first in (low, low + 200):
        sql(f"INSERT INTO {name} SELECT CAST(id AS {key}), id, concat('v', id) FROM range({first}, {first + 400})")
    sql(f"CALL sys.compact(table => '{name}')")


def sorts(spark: SparkSession, query: str) -> int:
    """How many sorts a query needs, whose rows are those of the same query without any help of the buckets'."""
    return plan_of_right_answer(spark, query).count("Sort [")


@pytest.mark.parametrize("kind", KINDS)
def test_compacted_tables_are_joined_without_a_sort(spark: SparkSession, sql: Sql, kind: str) -> None:
    filled(sql, "a", kind)
    filled(sql, "b", kind, low=100)
    assert sorts(spark, JOIN) == 0
    assert sorts(spark, JOIN.replace("JOIN", "FULL JOIN")) == 0
    assert sorts(spark, f"{JOIN} WHERE a.n % 3 = 0 AND b.n < 500") == 0
    assert "in the order of their keys" in plan_of(spark.sql(JOIN))


@pytest.mark.smoke
def test_rows_that_are_to_be_merged_are_sorted(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a", "marking")
    filled(sql, "b", "marking")
    sql("INSERT INTO a VALUES (5, 5, 'new'), (1000, 5, 'new')")
    assert sorts(spark, JOIN) == 1
    sql("CALL sys.compact(table => 'a')")
    assert sorts(spark, JOIN) == 0


def test_rows_that_are_marked_as_deleted_leave_the_others_in_order(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a", "deletion vectors")
    filled(sql, "b", "deletion vectors")
    sql("DELETE FROM a WHERE id % 5 = 0")
    rows = sql(JOIN)
    assert len(rows) == 480
    assert sorts(spark, JOIN) <= 1


def test_many_files_of_one_run_are_in_order(spark: SparkSession, sql: Sql) -> None:
    small = ", 'target-file-size' = '2 kb', 'file.format' = 'parquet', 'source.split.target-size' = '2 kb'"
    for name in "ab":
        table(sql, name, "marking", buckets=2, more=small)
        sql(f"INSERT INTO {name} SELECT id, id, sha2(string(id), 512) FROM range(4000)")
        sql(f"INSERT INTO {name} SELECT id, id, sha2(string(id), 512) FROM range(2000, 6000)")
        sql(f"CALL sys.compact(table => '{name}')")
    ((most,),) = sql("SELECT max(n) FROM (SELECT count(*) AS n FROM a$files GROUP BY bucket)")
    assert int(str(most)) > 1
    assert sorts(spark, JOIN) == 0
    assert sorts(spark, f"{JOIN} WHERE a.id BETWEEN 100 AND 120 OR a.id > 5900") == 0


@pytest.mark.parametrize("key", ["BIGINT", "STRING", "DECIMAL(20, 2)", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR(20)"])
def test_keys_of_many_types_are_in_sparks_order(spark: SparkSession, sql: Sql, key: str) -> None:
    of = {
        "STRING": "concat(if(id % 2 = 0, 'é', 'z'), char(id % 90 + 33), id)",
        "VARCHAR(20)": "concat(if(id % 2 = 0, 'ü', 'a'), id)",
        "DATE": "date_add(DATE '1960-01-01', int(id * 37))",
        "TIMESTAMP": "timestamp_seconds((id - 200) * 7919.25)",
        "BOOLEAN": "id % 2 = 0",
    }.get(key, f"CAST((id - 300) * 3.25 AS {key})")
    for name in "ab":
        table(sql, name, "marking", key)
        for first in (0, 200):
            sql(f"INSERT INTO {name} SELECT {of}, id, string(id) FROM range({first}, {first + 400})")
        sql(f"CALL sys.compact(table => '{name}')")
    assert sorts(spark, JOIN) == 0


@pytest.mark.parametrize("key", ["CHAR(9)", "DOUBLE", "BINARY"])
def test_keys_whose_order_may_be_another_are_sorted(spark: SparkSession, sql: Sql, key: str) -> None:
    for name in "ab":
        table(sql, name, "marking", key, keys="id")
        sql(f"INSERT INTO {name} SELECT CAST(string(id) AS {key}), id, string(id) FROM range(100)")
        sql(f"CALL sys.compact(table => '{name}')")
    assert sorts(spark, JOIN) == 2


def test_columns_behind_the_first_are_in_order_too(spark: SparkSession, sql: Sql) -> None:
    for name in "ab":
        table(sql, name, "marking", keys="id,n")
        for first in (0, 100):
            sql(f"INSERT INTO {name} SELECT id % 50, 1000 - id, string(id) FROM range({first}, {first + 300})")
        sql(f"CALL sys.compact(table => '{name}')")
    spark.conf.set("spark.sql.requireAllClusterKeysForCoPartition", "false")
    try:
        assert sorts(spark, "SELECT a.id, a.n, b.v FROM a JOIN b ON a.id = b.id AND a.n = b.n") == 0
        assert sorts(spark, JOIN) == 0
    finally:
        spark.conf.unset("spark.sql.requireAllClusterKeysForCoPartition")


def test_partitions_that_are_joined_by_keep_their_order(spark: SparkSession, sql: Sql) -> None:
    for name in "ab":
        sql(
            f"CREATE TABLE {name} (id INT, p STRING, v STRING) PARTITIONED BY (p) TBLPROPERTIES"
            " ('primary-key' = 'p,id', 'bucket' = '2', 'write-only' = 'true')"
        )
        for first in (0, 100):
            sql(f"INSERT INTO {name} SELECT id, concat('é', id % 3), string(id) FROM range({first}, {first + 200})")
        sql(f"CALL sys.compact(table => '{name}')")
    assert sorts(spark, "SELECT a.id, b.v FROM a JOIN b ON a.p = b.p AND a.id = b.id") <= 2
    assert sorts(spark, JOIN) == 2


def test_dynamic_pruning_leaves_the_order(spark: SparkSession, sql: Sql) -> None:
    for name in "ab":
        table(sql, name, "marking", buckets=8)
        sql(f"INSERT INTO {name} SELECT id, id, string(id) FROM range(1000)")
        sql(f"CALL sys.compact(table => '{name}')")
    sql("CREATE TABLE d (id INT, name STRING)")
    sql("INSERT INTO d VALUES (3, 'x'), (700, 'x'), (9, 'y')")
    spark.conf.set("spark.paimon.read.key-pruning.min-size", "0 b")
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false")
    try:
        query = f"SELECT /*+ BROADCAST(d) */ q.* FROM ({JOIN}) q JOIN d ON q.id = d.id WHERE d.name = 'x'"
        assert sorts(spark, query) == 0
        assert sorted(row[0] for row in sql(query)) == [3, 700]
    finally:
        spark.conf.unset("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly")
        spark.conf.unset("spark.paimon.read.key-pruning.min-size")

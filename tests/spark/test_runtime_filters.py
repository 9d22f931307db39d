"""Joins leave out files of a scan by the values of their other side, whoever reads, and never a row that is wanted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.storage.execution.metrics import METRICS

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = {
    "native": "|",
    "deletion vectors": ", PRIMARY KEY (p, a) NOT ENFORCED|'bucket' = '2', 'deletion-vectors.enabled' = 'true'",
    "marking": ", PRIMARY KEY (p, a) NOT ENFORCED|'bucket' = '2', 'write-only' = 'true'",
    "workers": ", PRIMARY KEY (p, a) NOT ENFORCED|'bucket' = '2', 'merge-engine' = 'partial-update'",
}


@pytest.fixture(autouse=True)
def _small_sides(spark: SparkSession) -> Iterator[None]:
    # Small tables are worth no pruning to Spark, unless what is pruned by is broadcast all the same.
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "true")
    spark.conf.set("spark.paimon.read.key-pruning.min-size", "0 b")
    yield
    spark.conf.unset("spark.paimon.read.key-pruning.min-size")


def fact(sql: Sql, kind: str, partition: str = "INT") -> None:
    key, _, options = KINDS[kind].partition("|")
    options = ", ".join(o for o in ("'file.format' = 'parquet'", options) if o)
    sql(f"CREATE TABLE t (a INT, b INT, p {partition}{key}) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    for low in (0, 20):
        sql(f"INSERT INTO t SELECT id % 40, id, CAST(id % 10 AS {partition}) FROM range({low}, {low + 40})")


def files_read(frame: DataFrame) -> int:
    """How many files of ``t`` the newest plan has, once the query has run."""
    frame.collect()
    database = frame.sparkSession.catalog.currentDatabase()
    (found,) = [
        m.last
        for place, m in METRICS.all()
        if place.name.endswith(f"{database}.t") and m.name == "scanResultedTableFiles"
    ]
    return int(found)


def _explained(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


JOIN = "SELECT t.a, t.b, t.p FROM t JOIN d ON t.p = d.p WHERE d.name = 'x'"


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_are_left_out_by_a_join(spark: SparkSession, sql: Sql, kind: str) -> None:
    fact(sql, kind)
    sql("CREATE TABLE d (p INT, name STRING)")
    sql("INSERT INTO d VALUES (3, 'x'), (4, 'y'), (NULL, 'x'), (77, 'x')")
    frame = spark.sql(JOIN)
    everything = sql("SELECT a, b, p FROM t")
    whole = files_read(spark.sql("SELECT * FROM t"))
    assert 0 < files_read(frame) <= whole // 5
    assert sorted(map(tuple, frame.collect())) == sorted(row for row in everything if row[2] == 3)
    assert "dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString()
    assert f"of which a join left {files_read(frame)} of {whole} files" in _explained(frame)
    # What one query leaves out another one reads.
    assert sorted(sql("SELECT a, b, p FROM t")) == sorted(everything)
    assert sql(JOIN.replace("'x'", "'z'")) == []


@pytest.mark.parametrize("partition", ["STRING", "BIGINT", "DATE", "DECIMAL(9, 2)", "BOOLEAN", "SMALLINT", "DOUBLE"])
def test_partitions_of_all_types_are_told_apart(spark: SparkSession, sql: Sql, partition: str) -> None:
    sql(f"CREATE TABLE t (a INT, p {partition}) PARTITIONED BY (p)")
    sql(f"CREATE TABLE d (p {partition}, name STRING)")
    values = {
        "STRING": ["'it''s, x'", "'null'", "'ä'", "', '"],
        "DATE": ["DATE'2024-02-29'", "DATE'1969-12-31'", "DATE'0001-01-01'"],
        "BOOLEAN": ["true", "false"],
        "DECIMAL(9, 2)": ["1.50", "-2.00", "0.00"],
        "DOUBLE": ["0.5", "-0.0", "double('NaN')"],
    }.get(partition, ["1", "-2", "0"])
    sql(f"INSERT INTO t VALUES {', '.join(f'({i}, {v})' for i, v in enumerate([*values, 'NULL']))}")
    wanted = ", ".join(f"({v}, 'x')" for v in [*values[:-1], "NULL"])
    sql(f"INSERT INTO d VALUES {wanted}, ({values[-1]}, 'y')")
    query = "SELECT t.a FROM t JOIN d ON t.p = d.p WHERE d.name = 'x'"
    assert sorted(sql(query)) == [(i,) for i in range(len(values) - 1)]


def test_names_and_texts_may_be_made_of_anything(spark: SparkSession, sql: Sql) -> None:
    name = "`x' IN ('y``, \"z`"
    values = ["a\\b", "', '", "it's", "null", "IN ('a')", ""]
    sql(f"CREATE TABLE t (a INT, {name} STRING) PARTITIONED BY ({name})")
    sql("CREATE TABLE d (p STRING, n INT)")
    rows = spark.createDataFrame(list(enumerate(values)), "a INT, p STRING")
    rows.createOrReplaceTempView("rows_of_any_text")
    sql("INSERT INTO t SELECT a, p FROM rows_of_any_text WHERE p <> ''")
    sql("INSERT INTO d SELECT p, 1 FROM rows_of_any_text")
    frame = spark.sql(f"SELECT t.a FROM t JOIN d ON t.{name} = d.p WHERE d.n = 1 AND d.p <> 'null'")
    assert "dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString()
    assert sorted(a for (a,) in frame.collect()) == [0, 1, 2, 4]


@pytest.mark.parametrize("kind", ["native", "marking", "workers"])
def test_files_are_left_out_by_their_keys(spark: SparkSession, sql: Sql, kind: str) -> None:
    key, _, options = KINDS[kind].replace("(p, a)", "(a)").partition("|")
    options = ", ".join(o for o in ("'bucket' = '8', 'bucket-key' = 'a'", options.replace("'bucket' = '2'", "")) if o)
    options = options.replace(", ,", ",")
    sql(f"CREATE TABLE t (a INT, b INT{key}) TBLPROPERTIES ({options})")
    sql("INSERT INTO t SELECT id, id FROM range(200)")
    sql("INSERT INTO t SELECT id, id + 1 FROM range(100, 300)")
    sql("CREATE TABLE d (a INT, name STRING)")
    sql("INSERT INTO d VALUES (150, 'x'), (151, 'y')")
    frame = spark.sql("SELECT t.a, t.b FROM t JOIN d ON t.a = d.a WHERE d.name = 'x'")
    assert files_read(frame) < files_read(spark.sql("SELECT * FROM t"))
    assert sorted(map(tuple, frame.collect())) == sorted(r for r in sql("SELECT a, b FROM t") if r[0] == 150)


def test_as_many_partitions_are_read_as_of_parquet(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    fact(sql, "native")
    sql("CREATE TABLE d (p INT, name STRING)")
    sql("INSERT INTO d VALUES (3, 'x'), (5, 'x'), (4, 'y')")
    spark.table("t").write.partitionBy("p").parquet(str(tmp_path / "t"))
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("parquet_t")
    plain = sorted(sql(JOIN.replace("FROM t ", "FROM parquet_t t ")))
    frame = spark.sql(JOIN)
    assert files_read(frame) == 2 * len({row[2] for row in plain})
    assert sorted(map(tuple, frame.collect())) == plain


def test_one_scan_twice_in_a_query_is_narrowed_for_each_place(sql: Sql) -> None:
    fact(sql, "native")
    sql("CREATE TABLE d (p INT, name STRING)")
    sql("INSERT INTO d VALUES (3, 'x'), (5, 'y')")
    each = "SELECT t.a, t.p FROM t JOIN d ON t.p = d.p WHERE d.name = '{}'"
    rows = sql("SELECT a, p FROM t")
    query = f"{each.format('x')} UNION ALL {each.format('y')} UNION ALL SELECT a, p FROM t"
    assert sorted(sql(query)) == sorted([*(r for r in rows if r[1] in (3, 5)), *rows])


@pytest.mark.parametrize("kind", KINDS)
def test_random_joins_answer_as_without_pruning(spark: SparkSession, sql: Sql, kind: str) -> None:
    fact(sql, kind)
    sql("CREATE TABLE d (p INT, a INT, n INT)")
    sql("INSERT INTO d SELECT id % 13, id % 50, id % 7 FROM range(60)")
    chance = random.Random(7)
    for _ in range(6):
        on = chance.choice(["t.p = d.p", "t.p = d.p AND t.a = d.a", "t.a = d.a", "t.p + 1 = d.p"])
        how = chance.choice(["JOIN", "LEFT SEMI JOIN", "RIGHT JOIN"])
        query = f"SELECT t.* FROM t {how} (SELECT * FROM d WHERE n = {chance.randrange(7)}) d ON {on}"
        query += chance.choice(["", " AND t.b > 20"])
        pruned = sorted(sql(query), key=str)
        spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
        assert pruned == sorted(sql(query), key=str), query
        spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "true")


def test_a_large_scan_keeps_its_bloom_filter(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('bucket' = '8', 'bucket-key' = 'a')")
    sql("INSERT INTO t SELECT id, id FROM range(1000)")
    sql("CREATE TABLE d (a INT, n INT)")
    sql("INSERT INTO d SELECT id, id FROM range(1000)")
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
        "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "1GB",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        frame = spark.sql("SELECT * FROM t JOIN d ON t.a = d.a WHERE d.n = 7")
        assert "might_contain" in frame._jdf.queryExecution().optimizedPlan().toString()
        assert [tuple(row) for row in frame.collect()] == [(7, 7, 7, 7)]
    finally:
        for key in settings:
            spark.conf.unset(key)


@pytest.mark.parametrize(
    ("key", "buckets", "told"), [("a", 8, True), ("a", 4, False), ("a, b", 8, False)], ids=["own bucket", "few", "two"]
)
def test_only_keys_that_tell_files_apart_are_asked_for(
    spark: SparkSession, sql: Sql, key: str, buckets: int, told: bool
) -> None:
    sql(f"CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key' = '{key}', 'bucket' = '{buckets}')")
    for number in (0, 1):
        sql(f"INSERT INTO t SELECT id, id + {number} FROM range(200)")
    sql("CREATE TABLE d (a INT, name STRING)")
    sql("INSERT INTO d VALUES (150, 'x'), (151, 'y')")
    frame = spark.sql("SELECT t.a, t.b FROM t JOIN d ON t.a = d.a WHERE d.name = 'x'")
    assert ("dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString()) is told
    assert sorted(map(tuple, frame.collect())) == sorted(row for row in sql("SELECT a, b FROM t") if row[0] == 150)


def test_stretches_of_keys_are_told_apart(spark: SparkSession, sql: Sql) -> None:
    options = "'primary-key' = 'a', 'bucket' = '1', 'write-only' = 'true'"
    sql(f"CREATE TABLE t (a INT, b INT) TBLPROPERTIES ({options})")
    for low in range(0, 8000, 1000):
        sql(f"INSERT INTO t SELECT id, id FROM range({low}, {low + 200})")
    sql("CREATE TABLE d (a INT, name STRING)")
    sql("INSERT INTO d VALUES (150, 'x'), (151, 'y')")
    frame = spark.sql("SELECT t.a, t.b FROM t JOIN d ON t.a = d.a WHERE d.name = 'x'")
    assert files_read(frame) == 1
    assert [tuple(row) for row in frame.collect()] == [(150, 150)]


def test_a_small_scan_is_read_sooner_than_a_join_leaves_files_out(spark: SparkSession, sql: Sql) -> None:
    spark.conf.unset("spark.paimon.read.key-pruning.min-size")
    sql("CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '8')")
    sql("INSERT INTO t SELECT id, id FROM range(200)")
    sql("CREATE TABLE d (a INT, name STRING)")
    sql("INSERT INTO d VALUES (150, 'x'), (151, 'y')")
    query = "SELECT t.b FROM t {} JOIN d ON t.a = d.a WHERE d.name = 'x'"
    for hint, told in (("", False), ("/*+ OPTIONS('read.key-pruning.min-size' = '1 kb') */", True)):
        frame = spark.sql(query.format(hint))
        assert ("dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString()) is told
        assert [tuple(row) for row in frame.collect()] == [(150,)]


def test_a_small_side_that_is_merged_is_read_once(spark: SparkSession, sql: Sql) -> None:
    fact(sql, "native")
    sql(
        "CREATE TABLE d (p INT, name STRING, PRIMARY KEY (p) NOT ENFORCED) WITH ('bucket' = '1', 'write-only' = 'true')"
    )
    sql("INSERT INTO d VALUES (3, 'y'), (4, 'y')")
    sql("INSERT INTO d VALUES (3, 'x'), (5, 'y')")
    frame = spark.sql(JOIN)
    everything = sql("SELECT a, b, p FROM t")
    assert 0 < files_read(frame) <= files_read(spark.sql("SELECT * FROM t")) // 5
    assert sorted(map(tuple, frame.collect())) == sorted(row for row in everything if row[2] == 3)
    assert "dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString()

"""Spark reads once what a query names twice, whoever reads it, and never shares reads that give other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = {
    "append": "",
    "deletion vectors": ", PRIMARY KEY (a) NOT ENFORCED|'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "marking": ", PRIMARY KEY (a) NOT ENFORCED|'bucket' = '1', 'write-only' = 'true'",
    "workers": ", PRIMARY KEY (a) NOT ENFORCED|'bucket' = '1', 'merge-engine' = 'partial-update'",
}


@pytest.fixture(params=KINDS)
def t(request: pytest.FixtureRequest, sql: Sql) -> str:
    """A table of each kind of reader, with overlapping commits."""
    key, _, options = KINDS[request.param].partition("|")
    sql(f"CREATE TABLE t (a INT, b INT{key}) TBLPROPERTIES ('file.format' = 'parquet'{', ' * bool(options)}{options})")
    sql("INSERT INTO t SELECT id, id % 5 FROM range(20)")
    sql("INSERT INTO t SELECT id, id % 3 FROM range(10, 30)")
    return "t"


def exchanges(spark: SparkSession, query: str) -> tuple[int, list[tuple[Any, ...]]]:
    """How many exchanges of a query stand for another one, and its rows."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        frame = spark.sql(query)
        plan = frame._jdf.queryExecution().executedPlan().toString()
        return plan.count("ReusedExchange"), sorted(map(tuple, frame.collect()))
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def is_merged(spark: SparkSession, query: str) -> bool:
    """Whether Spark works out several scalar subqueries of a query as one."""
    return "mergedValue" in spark.sql(query)._jdf.queryExecution().optimizedPlan().toString()


def joined(first: str, second: str) -> str:
    return f"SELECT x.a, x.b, y.b FROM ({first}) x JOIN ({second}) y ON x.a = y.a"


def test_a_scan_is_shared_by_those_that_are_equal(spark: SparkSession, sql: Sql, t: str) -> None:
    sql("CREATE TEMPORARY VIEW reused_copy AS SELECT a, b FROM t")
    try:
        for part in ("SELECT a, b FROM t", "SELECT a, b FROM t WHERE b > 1 AND a < 15"):
            reused, rows = exchanges(spark, joined(part, part))
            assert reused == 1
            frame = sorted(sql(part))
            assert rows == sorted((a, b, d) for a, b in frame for c, d in frame if a == c)
        assert exchanges(spark, joined("SELECT a, b FROM t", "SELECT a, b FROM reused_copy"))[0] == 1
    finally:
        sql("DROP VIEW reused_copy")


def test_other_conditions_states_and_columns_are_read_for_themselves(spark: SparkSession, sql: Sql, t: str) -> None:
    all_rows = "SELECT a, b FROM t"
    others = (
        "SELECT a, b FROM t WHERE b > 1",
        "SELECT a, b FROM t WHERE b + a > 3",
        "SELECT a, b FROM t VERSION AS OF 2",
        "SELECT a, b FROM t /*+ OPTIONS('scan.snapshot-id' = '2') */",
        "SELECT a, a b FROM t",
    )
    for other in others:
        reused, rows = exchanges(spark, joined(all_rows, other))
        assert reused == 0, other
        first, second = sql(all_rows), sql(other)
        assert rows == sorted((a, b, d) for a, b in first for c, d in second if a == c)
    assert exchanges(spark, joined(others[0], "SELECT a, b FROM t WHERE b > 2"))[0] == 0


def test_limits_are_not_shared_with_whole_tables(spark: SparkSession, sql: Sql, t: str) -> None:
    assert exchanges(spark, joined("SELECT a, b FROM t", "SELECT a, b FROM t LIMIT 5"))[0] == 0


def test_scalar_subqueries_are_worked_out_together(
    spark: SparkSession, sql: Sql, t: str, request: pytest.FixtureRequest
) -> None:
    query = "SELECT (SELECT max(b) FROM t WHERE a > 3), (SELECT count(DISTINCT b) FROM t WHERE a > 3)"
    # Python workers are given each aggregation by itself.
    assert is_merged(spark, query) == (request.node.callspec.params["t"] != "workers")
    rows = sql("SELECT b FROM t WHERE a > 3")
    assert sql(query) == [(max(b for (b,) in rows), len(set(rows)))]


def test_scalar_subqueries_of_other_columns_are_worked_out_together(
    spark: SparkSession, sql: Sql, t: str, request: pytest.FixtureRequest
) -> None:
    sql("ALTER TABLE t ADD COLUMN c INT")
    sql("INSERT INTO t VALUES (7, 7, 70), (40, 8, 80)")
    query = "SELECT (SELECT max(b) FROM {0} x WHERE a > 3), (SELECT sum(c) FROM {0} x WHERE a > 3) + {1}"
    # Python workers are given each aggregation by itself.
    assert is_merged(spark, query.format("t", 1)) == (request.node.callspec.params["t"] != "workers")
    whole = spark.table("t")
    spark.createDataFrame(whole.collect(), whole.schema).createOrReplaceTempView("copied_rows")
    try:
        for further in ("1", "(SELECT count(*) FROM {0} WHERE b > 2)", "(SELECT count(c) FROM {0} WHERE a > 3)"):
            asked, expected = (query.format(n, further.format(n)) for n in ("t", "copied_rows"))
            assert sql(asked) == sql(expected)
        asked = "SELECT (SELECT max(b) FROM t VERSION AS OF 1 x WHERE a > 3), (SELECT max(a) FROM t x WHERE a > 3)"
        assert sql(asked) == [(*sql("SELECT max(b) FROM t VERSION AS OF 1 WHERE a > 3")[0], 40)]
        asked = "SELECT * FROM copied_rows WHERE a > (SELECT avg(a) FROM t) AND b < (SELECT max(b) FROM t)"
        assert sorted(sql(asked)) == sorted(sql(asked.replace("FROM t", "FROM copied_rows")))
    finally:
        spark.catalog.dropTempView("copied_rows")


def test_scalar_subqueries_of_other_rows_read_what_they_need(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, b INT, s STRUCT<x: INT, y: INT>)")
    sql("INSERT INTO t VALUES (1, 2, struct(3, 4)), (5, 6, struct(7, 8))")
    for other in ("SELECT sum(b) FROM t WHERE a > 2", "SELECT sum(b) FROM t VERSION AS OF 1", "SELECT sum(s.x) FROM t"):
        query = f"SELECT (SELECT avg(a) FROM t WHERE b > 0), ({other})"
        assert not is_merged(spark, query)
        assert sql(query) == [(3.0, sql(other)[0][0])]


def test_a_merge_from_the_table_itself_reads_source_and_target(sql: Sql, t: str) -> None:
    sql("DELETE FROM t WHERE a < 5 OR a IN (SELECT a FROM t VERSION AS OF 1 WHERE a > 11)")
    left = sorted(sql("SELECT a, b FROM t"))
    sql(
        "MERGE INTO t USING (SELECT a, max(b) b FROM t GROUP BY a) s ON t.a = s.a"
        " WHEN MATCHED THEN UPDATE SET b = s.b + 1"
    )
    highest = {a: max(b for c, b in left if c == a) for a, _ in left}
    assert sorted(sql("SELECT a, b FROM t")) == sorted((a, highest[a] + 1) for a, _ in left)

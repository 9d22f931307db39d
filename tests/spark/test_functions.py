"""The functions of ``sys``, of constants and over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


def test_buckets_of_constants_are_known_while_spark_plans(sql: Sql) -> None:
    (plan,) = sql("EXPLAIN SELECT sys.bucket(8, 'x') AS b FROM range(3)")
    assert "2 AS b" in str(plan[0])


def test_a_row_stands_in_the_bucket_that_the_function_gives(sql: Sql, spark: SparkSession) -> None:
    sql(
        "CREATE TABLE t (a INT, b STRING, c DECIMAL(30, 2), d TIMESTAMP, e DOUBLE, f DATE, g BINARY, h TIMESTAMP_NTZ)"
        " TBLPROPERTIES ('bucket' = '7', 'bucket-key' = 'a,b,c,d,e,f,g,h')"
    )
    sql(
        "INSERT INTO t SELECT CAST(id AS INT), repeat('ü', CAST(id AS INT)), id / 4, timestamp_micros(id * 1000001),"
        " -id, date_add(DATE '1582-01-01', CAST(id AS INT)), CAST(CAST(id AS STRING) AS BINARY), NULL FROM range(0, 30)"
    )
    sql("INSERT INTO t (a) VALUES (NULL)")
    misplaced = "__paimon_bucket <> sys.bucket(7, a, b, c, d, e, f, g, h)"
    assert sql(f"SELECT count(*), count_if({misplaced}) FROM t") == [(31, 0)]
    assert spark.table("t").filter(misplaced.replace("sys.", "paimon.`sys`.")).count() == 0


def test_each_bucket_function_of_tables_has_its_own(sql: Sql) -> None:
    assert sql("SELECT sys.mod_bucket(4, 10), sys.mod_bucket(4, -1L), sys.hive_bucket(8, 'x')") == [(2, 3, 0)]
    assert sql("SELECT sys.mod_bucket(3, id), SYS.Bucket(1, id) FROM range(1, 3) ORDER BY id") == [(1, 0), (2, 0)]


def test_a_bucket_needs_a_number_and_a_key(sql: Sql) -> None:
    for call in ("sys.bucket(8)", "sys.bucket('x', 1)", "sys.bucket()"):
        with pytest.raises(Exception, match="takes a number of buckets"):
            sql(f"SELECT {call}")


def test_what_outlives_the_session_cannot_hold_a_bucket_over_columns(sql: Sql) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS k")
    for statement, kept in (
        ("CREATE OR REPLACE VIEW v AS SELECT sys.bucket(8, k) FROM t", "view"),
        ("CREATE VIEW IF NOT EXISTS v AS SELECT sys.bucket(8, k) FROM t", "view"),
        ("ALTER VIEW v AS SELECT sys.mod_bucket(8, k) FROM t", "view"),
        ("CREATE FUNCTION f(k INT) RETURNS INT RETURN sys.bucket(8, k)", "function"),
        ("CREATE MATERIALIZED TABLE m AS SELECT sys.bucket(8, k) AS b FROM t", "materialized table"),
    ):
        with pytest.raises(Exception, match=rf"A {kept} cannot hold sys\.\w+ over columns, which only this session"):
            sql(statement)
    sql("CREATE TEMPORARY VIEW of_this_session AS SELECT sys.bucket(8, k) AS b FROM t")
    assert sql("SELECT b FROM of_this_session") == [(6,)]
    sql("DROP VIEW of_this_session")


def test_the_functions_of_the_session_are_not_shown(sql: Sql) -> None:
    sql("CREATE TEMPORARY FUNCTION mine(k INT) RETURNS INT RETURN k + 1")
    sql("SELECT sys.bucket(8, id) FROM range(1)")
    assert sql("SHOW USER FUNCTIONS") == [("mine",)]
    assert sql("SHOW USER FUNCTIONS LIKE '*i*|*bucket*'") == [("mine",)]
    assert sql("SHOW USER FUNCTIONS '*bucket*'") == []
    shown = sql("SHOW FUNCTIONS")
    assert ("upper",) in shown and ("mine",) in shown and ("__paimon_bucket",) not in shown
    assert ("paimon.sys.bucket",) in sql("SHOW USER FUNCTIONS IN paimon.sys LIKE 'bucket'")
    assert sql("SHOW FUNCTIONS upper") == [("upper",)]
    sql("DROP TEMPORARY FUNCTION mine")


def test_the_largest_partition_is_one_with_rows(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, d DATE) PARTITIONED BY (d)")
    sql("INSERT INTO t VALUES (1, DATE '2024-01-09'), (2, DATE '2024-01-10'), (3, NULL)")
    assert sql("SELECT a FROM t WHERE d = sys.max_pt('t')") == [(2,)]
    sql("ALTER TABLE t DROP PARTITION (d = '2024-01-10')")
    assert sql("SELECT sys.max_pt('t')") == [("2024-01-09",)]


def test_the_functions_are_described(sql: Sql) -> None:
    assert sql("DESCRIBE FUNCTION sys.BUCKET") == [
        ("Function: paimon.sys.bucket",),
        ("Usage: bucket(count, key, ..): the bucket that the key's values fall into",),
    ]
    extended = sql("DESC FUNCTION EXTENDED paimon.sys.max_pt")
    assert len(extended) == 3 and "sys.max_pt('db.t')" in str(extended[2])
    assert sql("DESCRIBE FUNCTION upper")[0] == ("Function: upper",)
    with pytest.raises(Exception, match=r"no function sys.nosuch\. SHOW USER FUNCTIONS IN paimon.sys lists"):
        sql("DESCRIBE FUNCTION sys.nosuch")


def test_the_functions_are_listed(sql: Sql) -> None:
    names = {str(name) for (name,) in sql("SHOW USER FUNCTIONS IN paimon.sys")}
    assert {"paimon.sys.bucket", "paimon.sys.max_pt"} <= names


@pytest.mark.parametrize("kind", ["paimon", "csv", "parquet"])
def test_the_largest_partition_is_that_of_its_type_and_holds_rows(sql: Sql, kind: str) -> None:
    sql(f"CREATE TABLE n (a INT, p INT, q STRING) USING {kind} PARTITIONED BY (p, q)")
    with pytest.raises(Exception, match="has no partition that holds data"):
        sql("SELECT sys.max_pt('n')")
    sql("INSERT INTO n VALUES (1, 9, 'x'), (2, 10, 'x'), (3, NULL, 'x'), (4, 10, NULL)")
    sql("ALTER TABLE n ADD PARTITION (p = 99, q = 'z')")
    assert sql("SELECT sys.max_pt('n')") == [("10",)]
    assert sql("SELECT a FROM n WHERE p = sys.max_pt('n') ORDER BY a") == [(2,), (4,)]
    sql(f"CREATE TABLE u (a INT) USING {kind}")
    with pytest.raises(Exception, match="has no partition columns"):
        sql("SELECT sys.max_pt('u')")
    sql(f"CREATE TABLE s (a INT, p STRING) USING {kind} PARTITIONED BY (p)")
    sql("INSERT INTO s VALUES (1, 'a'), (2, 'ü'), (3, 'b')")
    assert sql("SELECT sys.max_pt('s')") == [("ü",)]

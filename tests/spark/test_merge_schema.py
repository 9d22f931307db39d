"""Writes by name that bring columns: ``write.merge-schema``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
MERGE = "/*+ OPTIONS('write.merge-schema'='true') */"
WIDEN = "/*+ OPTIONS('write.merge-schema'='true', 'write.merge-schema.type-widening'='true') */"
CAST = WIDEN.replace(") */", ", 'write.merge-schema.explicit-cast'='true') */")


@pytest.fixture
def merging(spark: SparkSession) -> Iterator[None]:
    """A session that lets writes bring columns."""
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    yield
    spark.conf.unset("spark.paimon.write.merge-schema")


def columns(sql: Sql, table: str = "t") -> list[tuple[Any, ...]]:
    """The names and types of a table's columns."""
    return [row[:2] for row in sql(f"DESCRIBE {table}") if row[0] and not str(row[0]).startswith("#")]


def test_new_columns_are_added_and_absent_ones_are_null(sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT, b STRING)")
    sql("INSERT INTO t VALUES (1, 'x')")
    sql("INSERT INTO t BY NAME SELECT 2.5D AS c, 2 AS a")
    sql("WITH s AS (SELECT 3 AS a) INSERT INTO t BY NAME SELECT a, DATE '2024-01-01' AS d FROM s")
    assert columns(sql) == [("a", "int"), ("b", "string"), ("c", "double"), ("d", "date")]
    assert sql("SELECT a, b, c, d IS NULL FROM t ORDER BY a") == [
        (1, "x", None, True),
        (2, None, 2.5, True),
        (3, None, None, False),
    ]


def test_without_the_option_new_columns_are_refused(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    with pytest.raises(Exception, match="too many data columns"):
        sql("INSERT INTO t BY NAME SELECT 1 AS a, 2 AS b")


def test_writes_by_position_bring_no_columns(sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT)")
    with pytest.raises(Exception, match="too many data columns"):
        sql("INSERT INTO t SELECT 1 AS a, 2 AS b")
    sql("INSERT INTO t SELECT 1 AS b")
    assert columns(sql) == [("a", "int")]


def test_a_hint_asks_for_one_write(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key'='id', 'bucket'='1')")
    sql(f"INSERT INTO t {MERGE} BY NAME SELECT 1 AS ID, 7L AS n")
    assert sql("SELECT * FROM t") == [(1, None, 7)]
    with pytest.raises(Exception, match="extra columns `m`"):
        sql("INSERT INTO t BY NAME SELECT 1 AS id, 2 AS m")


def test_fields_inside_columns_are_added_and_filled(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<u: INT>>)")
    sql("INSERT INTO t VALUES (1, named_struct('a', 1, 'b', 'x'), array(named_struct('p', 1)), map('k', struct(5)))")
    sql(
        f"INSERT INTO t {MERGE} BY NAME SELECT 2 AS id, named_struct('c', 3, 'a', 2) AS s,"
        " array(named_struct('q', 'y'), NULL) AS l, map('j', named_struct('w', 6)) AS m"
    )
    sql(f"INSERT INTO t {MERGE} BY NAME SELECT 3 AS id, CAST(NULL AS STRUCT<a: INT>) AS s")
    assert sql("SELECT id, s.a, s.b, s.c, l.p, l.q, m['j'].w, s IS NULL FROM t WHERE id > 1 ORDER BY id") == [
        (2, 2, None, 3, [None, None], ["y", None], 6, False),
        (3, None, None, None, None, None, None, True),
    ]


def test_columns_keep_their_types_unless_they_are_widened(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, n DECIMAL(5, 2), v VARCHAR(3))")
    sql(f"INSERT INTO t {MERGE} BY NAME SELECT 1L AS a")
    assert columns(sql)[0] == ("a", "int")
    sql(f"INSERT INTO t {WIDEN} BY NAME SELECT 5000000000 AS a, 12345.67 AS n, 'long text' AS v")
    assert columns(sql) == [("a", "bigint"), ("n", "decimal(7,2)"), ("v", "string")]
    sql(f"INSERT INTO t {WIDEN} BY NAME SELECT 2 AS a")
    assert sql("SELECT a FROM t ORDER BY a") == [(1,), (2,), (5000000000,)]


def test_types_that_lose_something_are_taken_only_if_casts_are_asked_for(sql: Sql) -> None:
    sql("CREATE TABLE t (a STRING)")
    sql("INSERT INTO t VALUES ('2024-01-01')")
    with pytest.raises(Exception, match=r"Column 'a' is STRING, and cannot be widened"):
        sql(f"INSERT INTO t {WIDEN} BY NAME SELECT DATE '2024-01-02' AS a")
    sql(f"INSERT INTO t {CAST} BY NAME SELECT DATE '2024-01-02' AS a")
    assert columns(sql) == [("a", "date")]
    assert sql("SELECT CAST(a AS STRING) FROM t ORDER BY a") == [("2024-01-01",), ("2024-01-02",)]


def test_overwrites_and_partitions_bring_columns_too(sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    sql("INSERT OVERWRITE t PARTITION (p = 'x') BY NAME SELECT 3 AS a, 4 AS b")
    assert sql("SELECT a, p, b FROM t ORDER BY a") == [(2, "y", None), (3, "x", 4)]
    sql(
        "INSERT OVERWRITE t /*+ OPTIONS('dynamic-partition-overwrite'='true') */ BY NAME"
        " SELECT 5 AS a, 'y' AS p, 6 AS c"
    )
    assert sql("SELECT a, p, b, c FROM t ORDER BY a") == [(3, "x", 4, None), (5, "y", None, 6)]


def test_explain_changes_nothing(sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT)")
    told = str(sql("EXPLAIN INSERT INTO t BY NAME SELECT 1 AS a, 2 AS b")[0][0])
    assert "INSERT" in told and "b" in told
    assert columns(sql) == [("a", "int")]
    assert sql("SELECT * FROM t") == []


def test_an_error_tells_its_place(sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT)")
    with pytest.raises(Exception, match="nowhere"):
        sql("INSERT INTO t BY NAME SELECT nowhere AS a")
    with pytest.raises(Exception, match="Cannot safely cast"):
        sql("INSERT INTO t BY NAME SELECT array(1) AS a, 2 AS b")


def test_a_bare_null_takes_the_type_of_its_column(sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT, s STRUCT<x: INT, y: ARRAY<INT>>)")
    sql("INSERT INTO t BY NAME SELECT 1 AS a, NULL AS s, 2 AS b")
    sql("INSERT INTO t BY NAME SELECT NULL AS a, named_struct('x', NULL, 'y', array()) AS s, 3 AS b")
    assert sql("SELECT a, s IS NULL, s.x, size(s.y), b FROM t ORDER BY b") == [
        (1, True, None, None, 2),
        (None, False, None, 0, 3),
    ]
    with pytest.raises(Exception, match="The new column 'c' is NULL alone"):
        sql("INSERT INTO t BY NAME SELECT NULL AS c")


def test_rows_of_a_frame_bring_columns_through_a_view(spark: SparkSession, sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT)")
    spark.createDataFrame([(1, "x")], "a INT, b STRING").createOrReplaceTempView("rows_of_a_frame")
    sql("INSERT INTO t BY NAME TABLE rows_of_a_frame")
    assert sql("SELECT * FROM t") == [(1, "x")]

"""UPDATE that brings fields inside columns, under ``write.merge-schema``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def evolving(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    yield
    spark.conf.unset("spark.paimon.write.merge-schema")


@pytest.mark.parametrize("properties", ["'primary-key' = 'id', 'bucket' = '2'", "'bucket' = '-1'"])
def test_a_column_takes_the_fields_of_its_values(sql: Sql, properties: str) -> None:
    sql(f"CREATE TABLE t (id INT, s STRUCT<a: INT, c: STRUCT<d: INT>>, l ARRAY<STRUCT<x: INT>>) WITH ({properties})")
    sql("INSERT INTO t VALUES (1, named_struct('a', 1, 'c', named_struct('d', 1)), array(named_struct('x', 1)))")
    sql("INSERT INTO t VALUES (2, NULL, NULL)")
    update = (
        "UPDATE t AS u SET s = named_struct('c', named_struct('e', 'é', 'd', u.id), 'a', u.s.a + 1),"
        " l = array(named_struct('y', 2.5D, 'x', NULL)) WHERE u.id = 1"
    )
    assert sql(update) == [(1,)]
    assert sql("SELECT id, s.a, s.c.d, s.c.e, l[0].x, l[0].y FROM t ORDER BY id") == [
        (1, 2, 1, "é", None, 2.5),
        (2, None, None, None, None, None),
    ]
    assert sql("SELECT count(*) FROM t$schemas") == [(2,)]
    assert sql(update) == [(1,)]
    assert sql("SELECT count(*) FROM t$schemas") == [(2,)]


@pytest.mark.smoke
def test_fields_that_values_lack_are_null(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT, b: INT>)")
    sql("INSERT INTO t VALUES (1, named_struct('a', 1, 'b', 1))")
    sql("UPDATE t SET s = named_struct('b', 2)")
    assert sql("SELECT s.a, s.b FROM t") == [(None, 2)]


def test_a_hint_asks_for_it_alone(sql: Sql, spark: SparkSession) -> None:
    spark.conf.unset("spark.paimon.write.merge-schema")
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT>)")
    sql("INSERT INTO t VALUES (1, named_struct('a', 1))")
    with pytest.raises(PySparkException, match="s"):
        sql("UPDATE t SET s = named_struct('a', 2, 'z', 3)")
    sql("UPDATE t /*+ OPTIONS('write.merge-schema' = 'true') */ SET s = named_struct('a', 2, 'z', 3)")
    assert sql("SELECT s.a, s.z FROM t") == [(2, 3)]


def test_a_column_that_is_not_there_is_a_mistake(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    with pytest.raises(PySparkException, match="nowhere"):
        sql("UPDATE t SET nowhere = 1")
    with pytest.raises(PySparkException, match="nothing"):
        sql("UPDATE t SET id = nothing")
    assert sql("SELECT count(*) FROM t$schemas") == [(1,)]


def test_wider_values_widen_columns_where_that_is_asked_for(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v INT, s STRUCT<a: INT>)")
    sql("INSERT INTO t VALUES (1, 1, named_struct('a', 1))")
    sql(
        "UPDATE t /*+ OPTIONS('write.merge-schema.type-widening' = 'true') */"
        " SET v = 5000000000, s = named_struct('a', 6000000000)"
    )
    assert sql("SELECT v, s.a FROM t") == [(5_000_000_000, 6_000_000_000)]


def test_defaults_and_nulls_bring_nothing(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v INT DEFAULT 7, s STRUCT<a: INT>)")
    sql("INSERT INTO t VALUES (1, 1, named_struct('a', 1))")
    sql("UPDATE t SET v = DEFAULT, s = NULL")
    assert sql("SELECT * FROM t") == [(1, 7, None)]
    assert sql("SELECT count(*) FROM t$schemas") == [(1,)]


def test_explain_changes_nothing(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT>)")
    sql("INSERT INTO t VALUES (1, named_struct('a', 1))")
    sql("EXPLAIN UPDATE t SET s = named_struct('a', 2)")
    assert sql("SELECT s.a FROM t") == [(1,)]

"""DataFrames that bring columns to their table: ``write.merge-schema`` by the writer's option and by the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tests.spark.conftest import changed_settings

Sql = Callable[[str], list[tuple[Any, ...]]]
MERGE = {"write.merge-schema": "true"}
WIDEN = MERGE | {"write.merge-schema.type-widening": "true"}
CAST = WIDEN | {"write.merge-schema.explicit-cast": "true"}

WAYS: dict[str, Callable[[DataFrame, dict[str, str], str], Any]] = {
    "saveAsTable": lambda f, o, t: f.write.format("paimon").mode("append").options(**o).saveAsTable(t),
    "writeTo": lambda f, o, t: f.writeTo(t).options(**o).append(),
    "save": lambda f, o, t: f.write.format("paimon").mode("append").options(**o).save(path_of(f.sparkSession, t)),
}


def path_of(spark: SparkSession, table: str) -> str:
    """The folder of a table."""
    rows = spark.sql(f"DESCRIBE EXTENDED {table}").collect()
    return str(next(row[1] for row in rows if row[0] == "Location"))


def columns(sql: Sql, table: str = "t") -> list[tuple[Any, ...]]:
    """The names and types of a table's columns."""
    return [row[:2] for row in sql(f"DESCRIBE {table}") if row[0] and not str(row[0]).startswith("#")]


@pytest.fixture
def merging(spark: SparkSession) -> Iterator[None]:
    """A session that lets writes bring columns."""
    with changed_settings(spark, **{"spark.paimon.write.merge-schema": "true"}):
        yield


@pytest.mark.smoke
@pytest.mark.parametrize("way", WAYS)
def test_an_option_of_the_writer_lets_new_columns_in(spark: SparkSession, sql: Sql, way: str) -> None:
    sql("CREATE TABLE t (a INT, b STRING)")
    sql("INSERT INTO t VALUES (1, '1')")
    write = WAYS[way]
    write(spark.createDataFrame([("3", 3, 3)], "B STRING, a INT, c INT"), MERGE, "t")
    write(spark.createDataFrame([("4", "4", 4)], "d STRING, b STRING, c INT"), MERGE, "t")
    assert columns(sql) == [("a", "int"), ("b", "string"), ("c", "int"), ("d", "string")]
    assert sorted(sql("SELECT * FROM t"), key=str) == [
        (1, "1", None, None),
        (3, "3", 3, None),
        (None, "4", 4, "4"),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_a_setting_of_the_session_lets_them_in_unless_the_writer_says_no(
    spark: SparkSession, sql: Sql, merging: None, way: str
) -> None:
    sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    frame = spark.createDataFrame([(1, 2.5)], "id INT, x DOUBLE")
    if way == "save":  # a path is no table's name, so that settings for all tables hold for it
        WAYS[way](frame, {}, "t")
    else:
        with pytest.raises(Exception, match=r"(?i)extra|too many"):
            WAYS[way](frame, {"write.merge-schema": "false"}, "t")
        WAYS[way](frame, {}, "t")
    assert sql("SELECT * FROM t") == [(1, None, 2.5)]


@pytest.mark.parametrize("way", WAYS)
def test_without_it_new_columns_and_fields_are_refused(spark: SparkSession, sql: Sql, way: str) -> None:
    sql("CREATE TABLE t (a INT, s STRUCT<x: INT>)")
    for text in ("SELECT 1 AS a, 2 AS b, NULL AS s", "SELECT 1 AS a, named_struct('x', 1, 'y', 2) AS s"):
        with pytest.raises(Exception, match=r"(?i)extra|too many"):
            WAYS[way](spark.sql(text), {}, "t")
    assert columns(sql) == [("a", "int"), ("s", "struct<x:int>")]
    assert sql("SELECT * FROM t") == []


def test_overwrites_bring_columns(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    frame = spark.createDataFrame([(10, "x", 7)], "a INT, p STRING, b INT")
    frame.writeTo("t").options(**MERGE).overwrite(col("p") == "x")
    assert sql("SELECT * FROM t ORDER BY a") == [(2, "y", None), (3, "z", None), (10, "x", 7)]
    frame = spark.createDataFrame([(20, "y", 8)], "a INT, p STRING, c INT")
    frame.writeTo("t").options(**MERGE).overwritePartitions()
    assert sql("SELECT a, b, c FROM t ORDER BY a") == [(3, None, None), (10, 7, None), (20, None, 8)]
    frame = spark.createDataFrame([(30, "y", 9)], "a INT, p STRING, d INT")
    frame.write.format("paimon").mode("overwrite").options(**MERGE).saveAsTable("t")
    assert sql("SELECT a, p, b, c, d FROM t") == [(30, "y", None, None, 9)]
    frame = spark.createDataFrame([(40, "y", 1)], "a INT, p STRING, e INT")
    frame.write.format("paimon").mode("overwrite").options(**MERGE).save(path_of(spark, "t"))
    assert sql("SELECT a, d, e FROM t") == [(40, None, 1)]


def test_insert_into_is_by_position_and_brings_nothing(spark: SparkSession, sql: Sql, merging: None) -> None:
    sql("CREATE TABLE t (a INT, b INT)")
    with pytest.raises(Exception, match=r"too many data columns"):
        spark.sql("SELECT 1 AS a, 2 AS b, 3 AS c").write.insertInto("t")
    spark.sql("SELECT 1 AS b, 2 AS a").write.options(**MERGE).insertInto("t")
    assert sql("SELECT a, b FROM t") == [(1, 2)]


def test_fields_inside_structs_arrays_and_maps_are_added_and_filled(spark: SparkSession, sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, s STRUCT<k: STRUCT<a: STRING, b: STRING>>, l ARRAY<STRUCT<p: INT>>,"
        " m MAP<STRING, STRUCT<u: INT>>)"
    )
    sql("INSERT INTO t VALUES (1, struct(struct('a', 'b')), array(struct(1)), map('k', struct(5)))")
    spark.sql(
        "SELECT 2 AS id, named_struct('k', named_struct('a', 'A', 'c', 'C', 'b', 'B')) AS s,"
        " array(named_struct('q', 'y'), NULL) AS l, map('j', named_struct('w', 6)) AS m, 'top' AS extra"
    ).write.format("paimon").mode("append").options(**MERGE).saveAsTable("t")
    spark.sql("SELECT 3 AS id, named_struct('k', named_struct('b', 'only')) AS s").writeTo("t").options(
        **MERGE
    ).append()
    assert sql("SELECT id, s.k.a, s.k.b, s.k.c, l.p, l.q, m['j'].w, extra FROM t ORDER BY id") == [
        (1, "a", "b", None, [1], [None], None, None),
        (2, "A", "B", "C", [None, None], ["y", None], 6, "top"),
        (3, None, "only", None, None, None, None, None),
    ]


def test_types_are_widened_or_cast_where_that_is_asked_for(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, l ARRAY<INT>, d STRING)")
    sql("INSERT INTO t VALUES (1, array(1), '2024-01-01')")
    spark.sql("SELECT 7L AS a, array(7L) AS l").writeTo("t").options(**MERGE).append()
    assert columns(sql)[:2] == [("a", "int"), ("l", "array<int>")]
    spark.sql("SELECT 5000000000 AS a, array(6000000000) AS l").writeTo("t").options(**WIDEN).append()
    assert columns(sql)[:2] == [("a", "bigint"), ("l", "array<bigint>")]
    dates = spark.sql("SELECT DATE '2024-01-02' AS d")
    with pytest.raises(Exception, match=r"Column 'd' is STRING, and cannot be widened"):
        dates.writeTo("t").options(**WIDEN).append()
    dates.writeTo("t").options(**CAST).append()
    assert sql("SELECT a, l, CAST(d AS STRING) FROM t ORDER BY a NULLS LAST") == [
        (1, [1], "2024-01-01"),
        (7, [7], None),
        (5000000000, [6000000000], None),
        (None, None, "2024-01-02"),
    ]


def test_names_in_another_case_are_new_columns_only_if_the_session_is_case_sensitive(
    spark: SparkSession, sql: Sql
) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<x: INT>)")
    frame = spark.sql("SELECT 1 AS ID, named_struct('X', 2) AS s")
    frame.writeTo("t").options(**MERGE).append()
    assert columns(sql) == [("id", "int"), ("s", "struct<x:int>")]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame.writeTo("t").options(**MERGE).append()
        assert columns(sql) == [("id", "int"), ("s", "struct<x:int,X:int>"), ("ID", "int")]
        assert sorted(sql("SELECT id, ID, s.x, s.X FROM t"), key=str) == [(1, None, 2, None), (None, 1, None, 2)]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_branch_gets_the_columns_and_the_main_one_does_not(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1)")
    sql("CALL sys.create_branch(table => 't', branch => 'b')")
    spark.sql("SELECT 2 AS a, 3 AS n").writeTo("t").options(**MERGE, branch="b").append()
    spark.sql("SELECT 4 AS a, 5 AS m").writeTo("`t$branch_b`").options(**MERGE).append()
    assert columns(sql) == [("a", "int")]
    assert sorted(sql("SELECT * FROM t$branch_b"), key=str) == [(2, 3, None), (4, None, 5)]


def test_sessions_made_from_one_have_it_too(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    ((database,),) = sql("SELECT current_database()")
    other = spark.newSession()
    other.sql("SELECT 1 AS a, 2 AS b").writeTo(f"paimon.{database}.t").options(**MERGE).append()
    assert sql("SELECT * FROM t") == [(1, 2)]


def test_a_table_may_get_columns_from_what_is_read_of_it(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1)")
    spark.sql("SELECT a + 1 AS a, a AS before FROM t").writeTo("t").options(**MERGE).append()
    assert sorted(sql("SELECT * FROM t"), key=str) == [(1, None), (2, 1)]


def test_a_write_that_is_refused_leaves_the_columns_or_says_why(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    with pytest.raises(Exception, match=r"new column 'b' has only NULL values"):
        spark.sql("SELECT 1 AS a, NULL AS b").writeTo("t").options(**MERGE).append()
    assert columns(sql) == [("a", "int")]

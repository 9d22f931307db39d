"""MERGE that brings columns and fields inside columns: ``write.merge-schema`` and ``WITH SCHEMA EVOLUTION``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
KEYED = "TBLPROPERTIES ('primary-key'='id', 'bucket'='1')"
EVOLVING = "TBLPROPERTIES ('row-tracking.enabled'='true', 'data-evolution.enabled'='true')"
ALL_WAYS = pytest.mark.parametrize("properties", [KEYED, "", EVOLVING])
UPSERT = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


@pytest.fixture(params=["option", "clause"])
def merge(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """How a MERGE begins that may bring columns."""
    if request.param == "clause":
        yield "MERGE WITH SCHEMA EVOLUTION INTO"
        return
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    yield "MERGE INTO"
    spark.conf.unset("spark.paimon.write.merge-schema")


def columns(sql: Sql, table: str = "t") -> list[tuple[Any, ...]]:
    """The names and types of a table's columns."""
    return [row[:2] for row in sql(f"DESCRIBE {table}") if row[0] and not str(row[0]).startswith("#")]


@ALL_WAYS
def test_fields_inside_columns_are_added(sql: Sql, merge: str, properties: str) -> None:
    sql(
        "CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<p: INT>>,"
        f" m MAP<STRING, STRUCT<u: INT>>) {properties}"
    )
    sql(
        "INSERT INTO t VALUES (1, struct(1, struct('c')), array(struct(1)), map('k', struct(5))),"
        " (2, struct(2, struct('d')), array(struct(2)), map('k', struct(6))), (4, NULL, NULL, NULL)"
    )
    sql(
        "CREATE TEMPORARY VIEW s AS"
        " SELECT id, named_struct('b', named_struct('e', 'E', 'c', 'C'), 'n', 7, 'a', 10) AS s,"
        " array(named_struct('q', 'y', 'p', 9), NULL) AS l, map('j', named_struct('w', 6, 'u', 3)) AS m, 'x' AS more"
        " FROM VALUES (1), (3), (4) AS v(id)"
    )
    sql(f"{merge} t USING s {UPSERT}")
    sql("DROP VIEW s")
    assert columns(sql)[1:] == [
        ("s", "struct<a:int,b:struct<c:string,e:string>,n:int>"),
        ("l", "array<struct<p:int,q:string>>"),
        ("m", "map<string,struct<u:int,w:int>>"),
        ("more", "string"),
    ]
    new = (10, "C", "E", 7, [9, None], ["y", None], 3, 6, "x")
    assert sql(
        "SELECT id, s.a, s.b.c, s.b.e, s.n, l.p, l.q, coalesce(m['j'], m['k']).u, m['j'].w, more FROM t ORDER BY id"
    ) == [(1, *new), (2, 2, "d", None, None, [2], [None], 6, None, None), (3, *new), (4, *new)]


@ALL_WAYS
def test_fields_that_the_source_lacks_are_kept_by_updates_and_null_in_inserts(
    sql: Sql, merge: str, properties: str
) -> None:
    sql(f"CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING, d: STRING>>, v STRING) {properties}")
    sql(
        "INSERT INTO t VALUES (1, named_struct('a', 1, 'b', named_struct('c', 'c', 'd', 'd')), 'v'), (2, NULL, 'v'),"
        " (3, named_struct('a', 3, 'b', named_struct('c', 'c', 'd', 'd')), 'v')"
    )
    sql(
        f"{merge} t USING (SELECT id, IF(id = 3, NULL, named_struct('b', named_struct('d', 'D'))) AS s"
        f" FROM VALUES (1), (2), (3), (4) AS v(id)) s {UPSERT}"
    )
    assert sql("SELECT id, s IS NULL, s.a, s.b.c, s.b.d, v FROM t ORDER BY id") == [
        (1, False, 1, "c", "D", "v"),
        (2, False, None, None, "D", "v"),
        (3, False, 3, "c", None, "v"),
        (4, False, None, None, "D", None),
    ]


def test_a_source_that_lacks_fields_is_refused_where_nothing_may_be_brought(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT, b: INT>)")
    sql("INSERT INTO t VALUES (1, struct(1, 1))")
    with pytest.raises(Exception, match=r"Cannot find data for the output column `s`\.`b`"):
        sql(f"MERGE INTO t USING (SELECT 1 AS id, named_struct('a', 2) AS s) s {UPSERT}")
    with pytest.raises(Exception, match=r"(?i)extra struct fields|extra fields"):
        sql(f"MERGE INTO t USING (SELECT 1 AS id, named_struct('a', 2, 'b', 3, 'c', 4) AS s) s {UPSERT}")
    sql(f"MERGE INTO t USING (SELECT 1 AS id, named_struct('b', 3, 'a', 2) AS s) s {UPSERT}")
    assert sql("SELECT id, s.a, s.b FROM t") == [(1, 2, 3)]


def test_assignments_bring_the_columns_that_they_name(sql: Sql, merge: str) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT>, v STRING)")
    sql("INSERT INTO t VALUES (1, struct(1), 'v'), (2, struct(2), 'v')")
    sql(
        f"{merge} t AS x USING"
        " (SELECT id, named_struct('b', id) AS s, 'n' AS n, 'u' AS u FROM VALUES (1), (3) AS v(id)) y ON x.id = y.id"
        " WHEN MATCHED THEN UPDATE SET x.s = named_struct('c', y.s.b, 'a', x.s.a + 10), n = y.n"
        " WHEN NOT MATCHED THEN INSERT (id, s, v) VALUES (y.id, y.s, DEFAULT)"
        " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.a = 20"
    )
    assert columns(sql) == [("id", "int"), ("s", "struct<a:int,c:int,b:int>"), ("v", "string"), ("n", "string")]
    assert sql("SELECT id, s.a, s.b, s.c, v, n FROM t ORDER BY id") == [
        (1, 11, None, 1, "v", "n"),
        (2, 20, None, None, "v", None),
        (3, None, 3, None, None, None),
    ]
    assert sql("SELECT max(schema_id) FROM t$schemas") == [(1,)]


def test_a_name_that_the_source_does_not_have_is_a_mistake(sql: Sql, merge: str) -> None:
    sql("CREATE TABLE t (id INT, v STRING)")
    with pytest.raises(Exception, match=r"(?i)nowhere"):
        sql(f"{merge} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET nowhere = s.id")
    with pytest.raises(Exception, match=r"(?i)nothing"):
        sql(f"{merge} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.nothing")
    assert columns(sql) == [("id", "int"), ("v", "string")]


def test_names_in_another_case_are_others_only_if_the_session_is_case_sensitive(
    spark: SparkSession, sql: Sql, merge: str
) -> None:
    sql(f"CREATE TABLE t (id INT, s STRUCT<x: INT>) {KEYED}")
    sql("INSERT INTO t VALUES (1, struct(1))")
    source = "(SELECT 1 AS ID, named_struct('X', 2, 'y', 3) AS S, 4 AS extra) s"
    sql(f"{merge} t USING {source} ON t.id = s.ID WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert columns(sql) == [("id", "int"), ("s", "struct<x:int,y:int>"), ("extra", "int")]
    assert sql("SELECT id, s.x, s.y, extra FROM t") == [(1, 2, 3, 4)]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        sql(f"{merge} t USING {source} ON t.id = s.ID WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
        assert columns(sql) == [
            ("id", "int"),
            ("s", "struct<x:int,y:int>"),
            ("extra", "int"),
            ("ID", "int"),
            ("S", "struct<X:int,y:int>"),
        ]
        assert sql("SELECT id, ID, s.x, S.X FROM t") == [(1, 1, 2, 2)]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_types_inside_columns_are_widened(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT>, l ARRAY<INT>, w VARCHAR(2))")
    sql("INSERT INTO t VALUES (1, struct(1), array(1), 'v')")
    source = "(SELECT 1 AS id, named_struct('a', 5000000000) AS s, array(6000000000) AS l, 'long' AS w) s"
    sql(f"MERGE WITH SCHEMA EVOLUTION INTO t USING {source} {UPSERT}")
    assert columns(sql)[1:] == [("s", "struct<a:bigint>"), ("l", "array<bigint>"), ("w", "string")]
    assert sql("SELECT id, s.a, l, w FROM t") == [(1, 5000000000, [6000000000], "long")]


def test_updates_and_inserts_take_struct_fields_by_name(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<a: INT, b: STRING>>)")
    sql("INSERT INTO t VALUES (1, NULL, NULL)")
    sql("UPDATE t SET s = named_struct('b', 'B', 'a', 1), l = array(named_struct('b', 'B', 'a', 1))")
    sql("INSERT INTO t BY NAME SELECT array(named_struct('b', 'C', 'a', 2)) AS l, named_struct('b', 'C', 'a', 2) AS s")
    assert sql("SELECT id, s.a, s.b, l.a, l.b FROM t ORDER BY id NULLS LAST") == [
        (1, 1, "B", [1], ["B"]),
        (None, 2, "C", [2], ["C"]),
    ]

"""INSERT WITH SCHEMA EVOLUTION: the table gets the columns and the wider types that the rows bring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = {
    "append": "",
    "keyed": "TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '2')",
    "partitioned": "PARTITIONED BY (b)",
}


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, sql: Sql) -> str:
    """A table of one row."""
    sql(f"CREATE TABLE t (a INT, b STRING, r STRUCT<x INT>) {KINDS[request.param]}")
    sql("INSERT INTO t VALUES (1, 'x', struct(1))")
    return "t"


def _columns(sql: Sql) -> list[tuple[Any, ...]]:
    return [row[:2] for row in sql("DESCRIBE t") if row[0] and not str(row[0]).startswith("#")][:9]


def test_rows_bring_columns_and_fields_by_name(sql: Sql, table: str) -> None:
    sql("INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 5L AS c, named_struct('y', 2) AS r, 2 AS a, 'y' AS b")
    assert sql("SELECT a, b, r.x, r.y, c FROM t ORDER BY a") == [(1, "x", 1, None, None), (2, "y", None, 2, 5)]


def test_rows_bring_columns_and_wider_types_by_their_places(sql: Sql, table: str) -> None:
    sql("INSERT WITH SCHEMA EVOLUTION INTO t SELECT 2, 'y', named_struct('p', 3000000000, 'q', 'z'), 1.5D AS d")
    assert sql("SELECT a, b, r.x, r.q, d FROM t ORDER BY a") == [
        (1, "x", 1, None, None),
        (2, "y", 3000000000, "z", 1.5),
    ]
    assert ("r", "struct<x:bigint,q:string>") in _columns(sql)


def test_an_overwrite_brings_columns_too(sql: Sql, table: str) -> None:
    sql("WITH s AS (SELECT 3 AS a, 'x' AS b, 7 AS n) INSERT WITH SCHEMA EVOLUTION OVERWRITE t BY NAME SELECT * FROM s")
    assert sql("SELECT a, b, r, n FROM t") == [(3, "x", None, 7)]


def test_named_columns_and_partitions_are_left_out_of_the_places(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, p STRING, z INT) PARTITIONED BY (p)")
    sql("INSERT WITH SCHEMA EVOLUTION INTO t PARTITION (p = 'x') SELECT 1, 2, 3 AS w")
    sql("INSERT WITH SCHEMA EVOLUTION INTO t (z, p) SELECT 4L, 'y'")
    assert sql("SELECT a, p, z, w FROM t ORDER BY p") == [(1, "x", 2, 3), (None, "y", 4, None)]
    with pytest.raises(Exception, match="has no column nope"):
        sql("INSERT WITH SCHEMA EVOLUTION INTO t (nope) SELECT 1")


def test_columns_of_one_name_keep_their_places(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, b INT)")
    sql("INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1 AS x, 2 AS x, 3 AS y")
    assert sql("SELECT * FROM t") == [(1, 2, 3)]


@pytest.mark.parametrize(
    ("rows", "why"),
    [("VALUES (2, 'y')", "have 2 columns, and go into 3"), ("SELECT 'n', 'y', NULL", "a"), ("SELECT nope", "nope")],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(sql: Sql, table: str, rows: str, why: str) -> None:
    before = _columns(sql)
    with pytest.raises(Exception, match=why):
        sql(f"INSERT WITH SCHEMA EVOLUTION INTO t {rows}")
    assert _columns(sql) == before
    assert sql("SELECT a, b FROM t") == [(1, "x")]

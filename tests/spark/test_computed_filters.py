"""Filters on computed numbers answer as Spark would by itself, whoever reads the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

FILTERS = [
    "k % 3 = 1",
    "k % -3 = -1",
    "pmod(k, 3) = 2",
    "v - k > 10",
    "v * 2 < k + 4 OR k = 7",
    "NOT (k % 2 = 0)",
    "k + CAST(s AS BIGINT) >= 20",
    "v < k AND k % 5 <> 0",
    "k * k = 49",
]


@pytest.fixture
def tables(sql: Sql) -> tuple[str, ...]:
    """One after the other: the rows in memory, a table merged on read, one of several formats, one with vectors."""
    columns = "k BIGINT, v INT, s SMALLINT, p INT"
    rows = (
        "SELECT id - 20 AS k, IF(id % 7 = 0, NULL, CAST(id * 3 % 40 AS INT)) AS v, CAST(id % 11 - 5 AS SMALLINT) AS s,"
        " CAST(id % 2 AS INT) AS p FROM range(0, 60)"
    )
    sql(f"CREATE TABLE plain ({columns})")
    sql(f"INSERT INTO plain {rows}")
    made = ["plain"]
    for name, options in (
        ("merged", "'bucket'='2'"),
        ("vectors", "'bucket'='2', 'deletion-vectors.enabled'='true'"),
        ("orc", "'bucket'='1', 'file.format'='orc'"),
    ):
        sql(f"CREATE TABLE {name} ({columns}) PARTITIONED BY (p) TBLPROPERTIES ('primary-key'='k,p', {options})")
        sql(f"INSERT INTO {name} SELECT k, 99, s, p FROM plain")
        sql(f"INSERT INTO {name} SELECT * FROM plain")
        made.append(name)
    return tuple(made)


@pytest.mark.parametrize("condition", FILTERS)
def test_all_readers_find_the_same_rows(sql: Sql, tables: tuple[str, ...], condition: str) -> None:
    plain = sorted(sql(f"SELECT k, v FROM (SELECT *, rand() AS r FROM plain) WHERE {condition} AND r >= 0"), key=str)
    for name in tables:
        assert sorted(sql(f"SELECT k, v FROM {name} WHERE {condition}"), key=str) == plain
    assert plain


def test_an_overflow_is_sparks_to_tell(sql: Sql, tables: tuple[str, ...]) -> None:
    for name in tables:
        with pytest.raises(Exception, match=r"overflow|OVERFLOW"):
            sql(f"SELECT * FROM {name} WHERE k * 9223372036854775807 > 0")


def test_deletes_by_a_computed_partition_leave_the_other_rows(sql: Sql, tables: tuple[str, ...]) -> None:
    for name in tables:
        (before,) = sql(f"SELECT count(*) FROM {name} WHERE p = 1")
        sql(f"DELETE FROM {name} WHERE p % 2 = 0")
        assert sql(f"SELECT count(*), min(p) FROM {name}") == [(*before, 1)]
        sql(f"UPDATE {name} SET v = -1 WHERE k % 5 = 0")
        assert sql(f"SELECT count(*) FROM {name} WHERE v = -1") == [(6,)]

"""ORDER BY with LIMIT: the rows are those of the whole table sorted, and only files that can hold them are read."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]
EVOLVING = "'row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'deletion-vectors.enabled'='true'"
TABLES = {
    "append": "'metadata.stats-mode'='truncate(2)'",
    "vectors": "'deletion-vectors.enabled'='true', 'file.format'='orc'",
    "evolving": EVOLVING,
    "deduplicate": "'primary-key'='id', 'bucket'='1', 'write-only'='true'",
    "partial-update": "'primary-key'='id', 'bucket'='2', 'merge-engine'='partial-update'",
}
COLUMNS = ("id", "n", "s", "x", "p", "d")


def files_read(sql: Sql, query: str) -> tuple[int, int]:
    """How many files a query reads, and of how many."""
    found = re.search(r"files (\d+) of (\d+)", str(sql(f"EXPLAIN {query}")[0][0]))
    assert found is not None
    return int(found[1]), int(found[2])


def fill(sql: Sql, kind: str, chance: random.Random) -> None:
    sql(
        "CREATE TABLE t (id BIGINT NOT NULL, n INT, s STRING, x DOUBLE, d DECIMAL(30, 2), p STRING)"
        f" {'' if 'primary' in TABLES[kind] else 'PARTITIONED BY (p)'} TBLPROPERTIES ({TABLES[kind]})"
    )
    for i in range(5):
        low = chance.randrange(60)
        sql(
            f"INSERT INTO t SELECT id, if(id % 6 = {i % 6}, NULL, cast(id * 3 % 40 - 9 + {low} AS INT)),"
            f" if({i} = 3, NULL, concat('ab', char(90 + id % 9), id % 4)), if(id % 5 = 0, double('NaN'), id % 7 - {i}),"
            f" {low} - id % 4, 'p{i % 3}' FROM range({low}, {low + 12}, 1, 1)"
        )
        if i == 2:
            sql("DELETE FROM t WHERE id % 4 = 1")
        if i == 3:
            sql("ALTER TABLE t RENAME COLUMN n TO m")
            sql("ALTER TABLE t ALTER COLUMN m TYPE BIGINT")
            sql("ALTER TABLE t RENAME COLUMN m TO n")
    if kind == "evolving":
        sql("UPDATE t SET n = -n WHERE n > 20")
        sql("CALL sys.create_global_index(table => 't', index_column => 'id', index_type => 'btree')")
        sql("DELETE FROM t WHERE id % 7 = 3")
        sql("INSERT INTO t VALUES (3, 7, 'a', 2, 5, 'p9')")


@pytest.mark.parametrize("kind", TABLES)
def test_the_first_rows_are_those_of_the_sorted_table(sql: Sql, kind: str) -> None:
    chance = random.Random(kind)
    fill(sql, kind, chance)
    rows = "SELECT struct({0}) AS r FROM {1} ORDER BY {2} LIMIT {3}"
    everything = "(SELECT * FROM t LIMIT 100000)"
    for _ in range(8):
        keys = chance.sample(COLUMNS, chance.choice([1, 1, 2]))
        order = ", ".join(
            f"{k} {chance.choice(['ASC', 'DESC'])} NULLS {chance.choice(['FIRST', 'LAST'])}" for k in keys
        )
        limit = chance.choice([1, 2, 5, 30])
        told = sql(rows.format(", ".join(keys), "t", order, limit))
        assert repr(told) == repr(sql(rows.format(", ".join(keys), everything, order, limit))), (order, limit)


def test_files_behind_the_first_rows_are_not_read(sql: Sql) -> None:
    sql("CREATE TABLE t (id BIGINT, s STRING, p STRING) PARTITIONED BY (p)")
    for i in range(6):
        sql(
            f"INSERT INTO t SELECT id, if(id = 40, NULL, concat('s', id)), 'p{i}' FROM"
            f" range({i * 10}, {i * 10 + 10}, 1, 1)"
        )
    for order, limit, read in (
        ("id", 3, 1),
        ("id DESC", 10, 1),
        ("id DESC", 11, 2),
        ("id, s", 60, 6),
        ("id + 1", 3, 6),
        ("s NULLS FIRST", 1, 1),
        ("p, id", 10, 1),
        ("p DESC", 12, 2),
        ("id % 3, id", 1, 6),
    ):
        assert files_read(sql, f"SELECT * FROM t ORDER BY {order} LIMIT {limit}") == (read, 6), order
    assert files_read(sql, "SELECT * FROM t WHERE p > 'p2' ORDER BY id LIMIT 2") == (1, 6)
    assert files_read(sql, "SELECT s FROM t WHERE id > 25 ORDER BY id LIMIT 2") == (4, 6)
    assert sql("SELECT id FROM t WHERE p > 'p2' ORDER BY id LIMIT 2") == [(30,), (31,)]
    assert sql("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 9") == [(9,), (10,)]
    sql("DELETE FROM t WHERE id BETWEEN 1 AND 8")
    assert sql("SELECT id FROM t ORDER BY id LIMIT 3") == [(0,), (9,), (10,)]


def test_a_sorted_index_tells_the_first_rows_without_a_job(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id BIGINT, x DOUBLE, s STRING) TBLPROPERTIES ({EVOLVING})")
    for i in range(2):
        sql(
            f"INSERT INTO t SELECT id * 7919 % 20000, if(id % 1000 = 0, double('NaN'), id % 5000 - 0.5),"
            f" if(id % 100 = 7, NULL, concat('n', id % 3000)) FROM range({i * 10000}, {i * 10000 + 10000}, 1, 1)"
        )
    for column in ("id", "x", "s"):
        sql(f"CALL sys.create_global_index(table => 't', index_column => '{column}', index_type => 'btree')")
    sql("DELETE FROM t WHERE id IN (0, 3, 19999)")
    sql("INSERT INTO t VALUES (-1, 3, 'n'), (20005, 4, 'zz')")
    for query, expected in (
        ("SELECT id FROM t ORDER BY id LIMIT 4", [(-1,), (1,), (2,), (4,)]),
        ("SELECT id FROM t ORDER BY id DESC LIMIT 3", [(20005,), (19998,), (19997,)]),
        ("SELECT x FROM t ORDER BY x LIMIT 3", [(0.5,)] * 3),
        ("SELECT s FROM t ORDER BY s DESC LIMIT 2", [("zz",), ("n999",)]),
        ("SELECT s, id FROM t ORDER BY s, id LIMIT 2", None),
        ("SELECT s, id FROM t ORDER BY s NULLS LAST, id DESC LIMIT 3", None),
    ):
        assert "LocalTableScan" in str(sql(f"EXPLAIN {query}")[0][0]), query
        plain = sql(query.replace("FROM t", "FROM t /*+ OPTIONS('global-index.enabled'='false') */"))
        assert sql(query) == plain, query
        assert expected is None or plain == expected, query
    assert "nan" in repr(sql("SELECT x FROM t ORDER BY x DESC LIMIT 1"))

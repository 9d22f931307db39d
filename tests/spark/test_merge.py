"""MERGE INTO with all of its clauses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]
KEYED = "TBLPROPERTIES ('primary-key'='id', 'bucket'='2')"
VECTORS = "TBLPROPERTIES ('deletion-vectors.enabled'='true')"
ALL_WAYS = pytest.mark.parametrize("properties", [KEYED, "", VECTORS])


@pytest.fixture
def tables(sql: Sql) -> Callable[[str], None]:
    """Makes a target ``t`` with properties, and a source ``s``."""

    def make(properties: str) -> None:
        sql(f"CREATE TABLE t (id INT, v STRING, n INT) {properties}")
        sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5)")
        sql("CREATE TABLE s (id INT, v STRING, n INT)")
        sql("INSERT INTO s VALUES (1, 'x', 10), (2, 'y', 20), (3, 'gone', 30), (6, 'new', 60), (7, 'half', 70)")

    return make


@ALL_WAYS
def test_the_first_clause_that_holds_decides(sql: Sql, tables: Callable[[str], None], properties: str) -> None:
    tables(properties)
    answer = sql(
        "MERGE INTO t USING s ON t.id = s.id"
        " WHEN MATCHED AND s.v = 'gone' THEN DELETE"
        " WHEN MATCHED AND t.n = 1 THEN UPDATE SET n = t.n + s.n, v = concat(t.v, s.v)"
        " WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED AND s.v = 'half' THEN INSERT (id, n) VALUES (s.id * 10, s.n)"
        " WHEN NOT MATCHED THEN INSERT *"
        " WHEN NOT MATCHED BY SOURCE AND t.n > 4 THEN DELETE"
        " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'orphan'"
    )
    assert answer == [(7, 3, 2, 2)]
    assert sql("SELECT * FROM t ORDER BY id") == [
        (1, "ax", 11),
        (2, "y", 20),
        (4, "orphan", 4),
        (6, "new", 60),
        (70, None, 70),
    ]


@ALL_WAYS
def test_a_row_that_matches_twice_is_refused(sql: Sql, tables: Callable[[str], None], properties: str) -> None:
    tables(properties)
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        sql("MERGE INTO t USING (SELECT 1 AS i UNION ALL SELECT 1) q ON t.id = q.i WHEN MATCHED THEN UPDATE SET n = 0")
    assert sql("SELECT sum(n) FROM t") == [(15,)]


@ALL_WAYS
def test_a_merge_that_only_inserts_reads_no_more_than_the_condition_needs(
    sql: Sql, tables: Callable[[str], None], properties: str
) -> None:
    tables(properties)
    ((told,),) = sql("EXPLAIN MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert "LeftAnti" in told
    assert sql("MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *") == [(2, 0, 0, 2)]
    assert sql("SELECT count(*), sum(n) FROM t") == [(7, 145)]


def test_a_merge_may_set_a_key_only_to_what_it_is(sql: Sql, tables: Callable[[str], None]) -> None:
    tables(KEYED)
    merge = "MERGE INTO t USING s ON {} WHEN MATCHED THEN UPDATE SET id = s.id, n = s.n"
    assert sql(merge.format("t.id = s.id")) == [(3, 3, 0, 0)]
    with pytest.raises(Exception, match="would change column id of the primary key"):
        sql(merge.format("t.id + 1 = s.id"))
    assert sql("SELECT id, n FROM t ORDER BY id") == [(1, 10), (2, 20), (3, 30), (4, 4), (5, 5)]


def test_the_source_may_be_the_target_at_another_time(sql: Sql, tables: Callable[[str], None]) -> None:
    tables(KEYED)
    sql("UPDATE t SET n = 0 WHERE id < 4")
    answer = sql(
        "MERGE INTO t USING t VERSION AS OF 1 AS old ON t.id = old.id AND t.n = 0 WHEN MATCHED THEN UPDATE SET *"
    )
    assert answer == [(3, 3, 0, 0)]
    assert sql("SELECT sum(n) FROM t") == [(15,)]


@pytest.mark.parametrize("properties", [KEYED, ""])
def test_schema_evolution_adds_and_widens_columns(sql: Sql, tables: Callable[[str], None], properties: str) -> None:
    tables(properties)
    sql(
        "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 1 AS id, 5000000000 AS n, true AS flag UNION ALL"
        " SELECT 9, 9, false) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert sql("SELECT * FROM t WHERE id IN (1, 2, 9) ORDER BY id") == [
        (1, "a", 5000000000, True),
        (2, "b", 2, None),
        (9, None, 9, False),
    ]


def test_a_source_that_lacks_columns_is_refused_without_evolution(sql: Sql, tables: Callable[[str], None]) -> None:
    tables(KEYED)
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        sql("MERGE INTO t USING (SELECT 1 AS id, 'q' AS v) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET *")


def test_defaults_fill_columns_that_an_insert_leaves_out(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, n INT DEFAULT 7, v STRING) {KEYED}")
    sql("MERGE INTO t USING (SELECT 1 AS i) s ON t.id = s.i WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.i, DEFAULT)")
    assert sql("SELECT * FROM t") == [(1, 7, None)]

"""UPDATE of tables with and without a primary key."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
KEYED = "TBLPROPERTIES ('primary-key'='id', 'bucket'='2')"
VECTORS = "TBLPROPERTIES ('deletion-vectors.enabled'='true')"


@pytest.mark.parametrize("properties", [KEYED, "", VECTORS])
def test_an_update_changes_the_rows_of_its_condition_and_says_how_many(sql: Sql, properties: str) -> None:
    sql(f"CREATE TABLE t (id INT, n INT, s STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>) {properties}")
    sql(
        "INSERT INTO t VALUES (1, 10, struct(1, 'x'), map('k', 1)), (2, NULL, NULL, NULL),"
        " (3, 30, struct(3, 'z'), map())"
    )
    assert sql("UPDATE t AS u SET n = u.n + 1, s.b = upper(u.s.b), m = map('n', n) WHERE u.n IN (SELECT 10)") == [(1,)]
    assert sql("UPDATE t SET n = (SELECT max(n) FROM t) WHERE n IS NULL OR false") == [(1,)]
    assert sql("UPDATE t SET n = 0 WHERE id > 100") == [(0,)]
    assert sql("SELECT id, n, s.a, s.b, m FROM t ORDER BY id") == [
        (1, 11, 1, "X", {"n": 10}),
        (2, 30, None, None, None),
        (3, 30, 3, "z", {}),
    ]
    assert sql("SELECT count(*) FROM t VERSION AS OF 1 WHERE n = 10") == [(1,)]


def test_only_files_with_changed_rows_are_rewritten(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'a')")
    sql("INSERT INTO t VALUES (3, 'a'), (4, 'b')")
    before: dict[str, str] = dict(sql("SELECT file_path, partition FROM t$files"))
    assert sql("UPDATE t SET p = 'c' WHERE id = 1") == [(1,)]
    after: dict[str, str] = dict(sql("SELECT file_path, partition FROM t$files"))
    assert len(before.keys() & after.keys()) == 2
    assert sql("SELECT id, p FROM t ORDER BY id") == [(1, "c"), (2, "a"), (3, "a"), (4, "b")]
    assert sql("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id")[-1] == ("OVERWRITE",)


def test_nulls_of_old_rows_stay_where_a_column_has_a_default(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, n INT, d INT) {KEYED}")
    sql("INSERT INTO t VALUES (1, 1, NULL)")
    sql("ALTER TABLE t ALTER COLUMN d SET DEFAULT 5")
    sql("UPDATE t SET n = 2")
    assert sql("SELECT * FROM t") == [(1, 2, None)]
    sql("UPDATE t SET d = DEFAULT")
    assert sql("SELECT * FROM t") == [(1, 2, 5)]


def test_texts_that_do_not_fit_are_refused(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, c CHAR(3), v VARCHAR(2))")
    sql("INSERT INTO t VALUES (1, 'a', 'b')")
    sql("UPDATE t SET c = 'xy', v = 'yz' WHERE c = 'a'")
    assert sql("SELECT id, rtrim(c), v FROM t") == [(1, "xy", "yz")]
    with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
        sql("UPDATE t SET v = 'long'")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("UPDATE t SET id = 2", "UPDATE cannot set id, which is of the primary key"),
        ("UPDATE t\nSET nosuch = 2", "`nosuch`.*line 2"),
        ("UPDATE t SET n = 'x'", "Cannot safely cast `n`"),
        ("UPDATE t SET n = 2 WHERE rand() > 2", "deterministic"),
        ("UPDATE t SET n = 1, n = 2", "n"),
        ("UPDATE t$files SET level = 1", "system table"),
    ],
)
def test_an_update_that_makes_no_sense_is_refused(sql: Sql, text: str, told: str) -> None:
    sql(f"CREATE TABLE t (id INT, n INT) {KEYED}")
    sql("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(Exception, match=f"(?s){told}"):
        sql(text)
    assert sql("SELECT * FROM t") == [(1, 1)]


@pytest.mark.parametrize("engine", ["aggregation", "first-row"])
def test_engines_that_merge_otherwise_refuse_updates(sql: Sql, engine: str) -> None:
    sql(f"CREATE TABLE t (id INT, n INT) TBLPROPERTIES ('primary-key'='id', 'bucket'='1', 'merge-engine'='{engine}')")
    with pytest.raises(Exception, match="INSERT rows that the engine merges"):
        sql("UPDATE t SET n = 2")


@pytest.mark.parametrize("properties", [KEYED, ""])
def test_no_update_is_lost_among_rivals(sql: Sql, spark: SparkSession, properties: str) -> None:
    sql(f"CREATE TABLE t (id INT, n INT) {properties}")
    sql("INSERT INTO t VALUES (1, 0), (2, 0)")
    name = ".".join(spark.sql("SELECT current_catalog(), current_schema()").first())

    def add(_: int) -> None:
        spark.sql(f"UPDATE {name}.t SET n = n + 1 WHERE id = 1").collect()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add, range(6)))
    assert sql("SELECT * FROM t ORDER BY id") == [(1, 6), (2, 0)]


def test_explain_changes_nothing_and_tells_the_way(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, n INT)")
    sql("INSERT INTO t VALUES (1, 1)")
    ((told,),) = sql("EXPLAIN UPDATE t SET n = 2 WHERE id = 1")
    assert "UPDATE of" in told and "at snapshot 1: append files rewritten" in told and "Physical Plan" in told
    assert sql("SELECT * FROM t") == [(1, 1)]


def test_rows_found_by_key_have_texts_of_a_length(sql: Sql) -> None:
    columns = "k INT, c CHAR(4), s STRUCT<v: VARCHAR(3), l: ARRAY<CHAR(2)>>, m MAP<STRING, VARCHAR(2)>, p VARCHAR(5)"
    sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (p) TBLPROPERTIES ('primary-key'='k,p', 'bucket'='1')")
    sql("INSERT INTO t VALUES (1, 'ab', named_struct('v', 'x', 'l', array('y')), map('k', 'z'), 'one')")
    assert sql("UPDATE t SET c = 'abc' WHERE k = 1 AND p = 'one'") == [(1,)]
    ((c, s, m),) = sql("SELECT c, s, m FROM t WHERE k = 1 AND p = 'one'")
    assert (c, tuple(s), m) == ("abc ", ("x", ["y "]), {"k": "z"})
    assert sql("SHOW PARTITIONS t") == [("p=one",)]

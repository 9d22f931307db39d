"""REPLACE TABLE by what one table's history cannot hold: other partition columns, or another kind of table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.errors import PaimonError

Sql = Callable[[str], list[tuple[Any, ...]]]


def _tables(sql: Sql) -> list[str]:
    return [row[1] for row in sql("SHOW TABLES")]


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "PARTITIONED BY (p)"), ("PARTITIONED BY (p)", ""), ("PARTITIONED BY (p)", "PARTITIONED BY (p, q)")],
)
def test_a_table_gets_other_partition_columns(sql: Sql, before: str, after: str) -> None:
    sql(f"CREATE TABLE t (a INT, p STRING, q INT) {before}")
    sql("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', NULL), (3, NULL, 2)")
    sql(f"CREATE OR REPLACE TABLE t {after} AS SELECT a + 1 AS a, p, q FROM t")
    assert sql("SELECT * FROM t ORDER BY a") == [(2, "x", 1), (3, "y", None), (4, None, 2)]
    shown = sql("SELECT partition FROM t$partitions") if after else []
    assert len(shown) == (3 if after else 0)
    sql("INSERT INTO t VALUES (9, 'x', 1)")
    sql("CALL sys.compact(table => 't')")
    sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    sql("CALL sys.remove_orphan_files(table => 't')")
    assert sql("SELECT count(*) FROM t") == [(4,)]
    assert _tables(sql) == ["t"]


def test_an_empty_table_of_other_partition_columns_takes_the_place(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, p STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('bucket' = '2')")
    sql("INSERT INTO t VALUES (1, 'x')")
    sql("REPLACE TABLE t (a INT, d DATE) PARTITIONED BY (d)")
    assert sql("SELECT * FROM t") == []
    sql("INSERT INTO t VALUES (1, DATE '2026-01-01')")
    assert sql("SELECT count(*) FROM t WHERE d = DATE '2026-01-01'") == [(1,)]
    assert _tables(sql) == ["t"]


@pytest.mark.parametrize(("before", "after"), [("USING csv", "USING paimon"), ("USING paimon", "USING parquet")])
def test_a_table_is_replaced_by_one_of_another_kind(sql: Sql, before: str, after: str) -> None:
    sql(f"CREATE TABLE t {before} AS SELECT 1 AS a, 'x' AS b")
    sql(f"CREATE OR REPLACE TABLE t {after} AS SELECT a, b, a + 1 AS c FROM t")
    assert sql("SELECT * FROM t") == [(1, "x", 2)]
    assert after in sql("SHOW CREATE TABLE t")[0][0].replace("USING PARQUET", "USING parquet")
    sql(f"CREATE OR REPLACE TABLE t (z INT) {before}")
    assert sql("SELECT * FROM t") == []
    assert _tables(sql) == ["t"]


def test_a_query_that_fails_leaves_the_old_table(sql: Sql) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS a, 'x' AS p")
    with pytest.raises(Exception, match="no luck"):
        sql(
            "CREATE OR REPLACE TABLE t PARTITIONED BY (p) AS SELECT IF(a > 1, a, raise_error('no luck')) AS a, p FROM t"
        )
    assert sql("SELECT * FROM t") == [(1, "x")]
    assert _tables(sql) == ["t"]


def test_a_table_that_was_replaced_meanwhile_stays(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS a, 'x' AS p")
    monkeypatch.setattr("paimon_sql.spark.tables.staged_table.is_same_table", lambda table: False)
    with pytest.raises(Exception, match="was dropped, renamed or replaced while the statement ran"):
        sql("CREATE OR REPLACE TABLE t PARTITIONED BY (p) AS SELECT 2 AS a, 'y' AS p")
    assert sql("SELECT * FROM t") == [(1, "x")]
    assert _tables(sql) == ["t"]


def test_a_successor_that_does_not_get_its_name_is_whole_and_said(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS a, 'x' AS p")

    def fails(*_: object) -> None:
        raise PaimonError("out of order")

    with monkeypatch.context() as patch:
        patch.setattr(FileSystemCatalog, "rename_table", fails)
        with pytest.raises(Exception, match=r"t was dropped, but .*t__replacing_.*out of order.*ALTER TABLE"):
            sql("CREATE OR REPLACE TABLE t PARTITIONED BY (p) AS SELECT 2 AS a, 'y' AS p")
    (aside,) = _tables(sql)
    sql(f"ALTER TABLE {aside} RENAME TO t")
    assert sql("SELECT * FROM t") == [(2, "y")]

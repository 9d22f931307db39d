"""Aggregates that metadata of append tables tell: no file is read, and the answers are those of a Parquet copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]

ROWS = (
    "SELECT CAST(IF(id % 4 = 0, NULL, id - 7) AS TINYINT) a, CAST(id * 99 AS INT) b, id * 461168601842738 - 99 c,"
    " CAST(IF(id % 2 = 0, -99.99, 99.99) AS DECIMAL(30, 2)) d, date_add(DATE '1500-01-01', CAST(id AS INT)) y,"
    " timestamp_micros(-id * 1000000000001) m, TIMESTAMP_NTZ '1969-12-31 23:59:59.999999' n, id > 3 o,"
    " IF(id = 5, double('NaN'), id / 4) x, repeat('ä', CAST(id AS INT) * 9) s, CAST(NULL AS INT) z,"
    " IF(id % 5 = 0, NULL, concat('p ', id % 3)) p, CAST(id % 2 AS INT) q FROM range({}, {})"
)
TOLD = [
    "SELECT count(*) FROM {}",
    "SELECT min(a), max(a), count(a), min(b), max(c), min(d), max(d), min(y), max(y), count(z), min(z) FROM {}",
    "SELECT min(m), max(m), min(n), max(n), min(o), max(o), count(s), count(x), min(p), max(q), count(p) FROM {}",
    "SELECT p, q, count(*), max(b), min(a) FROM {} GROUP BY p, q",
    "SELECT q, max(c) FROM {} WHERE p = 'p 1' AND q >= 0 GROUP BY q",
    "SELECT DISTINCT p FROM {}",
    "SELECT count(*), max(b) FROM {} WHERE p = 'nowhere'",
    "SELECT p, count(*) FROM {} WHERE p = 'nowhere' GROUP BY p",
    "SELECT p, count(*) AS n FROM {} GROUP BY p HAVING count(*) > 2 ORDER BY n",
]
NOT_TOLD = [
    "SELECT max(s), min(s) FROM {}",
    "SELECT max(x) FROM {}",
    "SELECT count(DISTINCT a), max(b) FROM {}",
    "SELECT s, count(*) FROM {} GROUP BY s",
    "SELECT max(b) FROM {} WHERE b > 200",
    "SELECT max(b + 1) FROM {}",
    "SELECT count(*) FILTER (WHERE b > 0) FROM {}",
]


@pytest.fixture
def check(spark: SparkSession, sql: Sql, tmp_path: Path) -> Callable[[str, bool], None]:
    """Asks ``t`` and a copy of its rows, and looks whether metadata told the answer."""

    def compare(query: str, told: bool) -> None:
        spark.table("t").write.mode("overwrite").parquet(str(tmp_path / "copy"))
        spark.read.parquet(str(tmp_path / "copy")).createOrReplaceTempView("plain_copy")
        try:
            found, expected = (sorted(map(str, sql(query.format(name)))) for name in ("t", "plain_copy"))
        finally:
            spark.catalog.dropTempView("plain_copy")
        assert found == expected, query
        ((plan,),) = sql(f"EXPLAIN {query.format('t')}")
        assert ("LocalTableScan" in str(plan)) == told, (query, plan)

    return compare


def test_they_are_those_of_a_parquet_copy(sql: Sql, check: Callable[[str, bool], None]) -> None:
    sql("CREATE TABLE t PARTITIONED BY (p, q) AS " + ROWS.format(0, 12))
    sql("INSERT INTO t " + ROWS.format(6, 30))
    for query in TOLD:
        check(query, True)
    for query in NOT_TOLD:
        check(query, False)
    sql("ALTER TABLE t RENAME COLUMN b TO e")
    sql("ALTER TABLE t ALTER COLUMN a TYPE INT")
    sql("ALTER TABLE t ADD COLUMN new INT")
    sql("INSERT INTO t (e, a, new, p, q) VALUES (1, 1000, 5, 'p 1', 0)")
    check("SELECT max(e), min(new), count(new) FROM {}", True)
    check("SELECT max(a) FROM {}", False)


def test_rows_that_are_marked_as_deleted_are_not_told(sql: Sql, check: Callable[[str, bool], None]) -> None:
    sql("CREATE TABLE t TBLPROPERTIES ('deletion-vectors.enabled' = 'true') AS " + ROWS.format(0, 12))
    sql("DELETE FROM t WHERE b = 0")
    check("SELECT count(*) FROM {}", True)
    check("SELECT min(b) FROM {}", False)


def test_a_table_that_holds_nothing_has_no_values(sql: Sql, check: Callable[[str, bool], None]) -> None:
    sql("CREATE TABLE t (a INT, p INT) PARTITIONED BY (p)")
    check("SELECT count(*), max(a), count(a) FROM {}", True)
    check("SELECT p, max(a) FROM {} GROUP BY p", True)


def test_a_snapshot_of_the_past_tells_its_own(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1), (2)")
    sql("INSERT INTO t VALUES (3)")
    assert sql("SELECT max(a), count(*) FROM t VERSION AS OF 1") == [(2, 2)]
    assert sql("SELECT max(a), count(*) FROM t") == [(3, 3)]
    assert sql("SELECT max(a), count(*) FROM t /*+ OPTIONS('incremental-between' = '1,2') */") == [(3, 1)]

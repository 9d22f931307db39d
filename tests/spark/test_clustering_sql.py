"""Clustered append tables by statements: what runs say, and what queries no longer read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


def files_read(sql: Sql, query: str) -> tuple[int, int]:
    found = re.search(r"files (\d+) of (\d+)", str(sql(f"EXPLAIN {query}")[0][0]))
    assert found is not None
    return int(found[1]), int(found[2])


def test_runs_cluster_what_is_new_and_queries_read_less(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, x INT) TBLPROPERTIES ('clustering.incremental'='true', 'clustering.columns'='x,id',"
        " 'target-file-size'='10 kb', 'deletion-vectors.enabled'='true')"
    )
    for n in range(5):
        sql(f"INSERT INTO t SELECT id, id * 7919 % 9973 FROM range({n * 3000}, {n * 3000 + 3000}, 1, 1)")
    sql("DELETE FROM t WHERE id % 3000 < 10")
    query, (read, files) = "SELECT * FROM t WHERE x = 17", files_read(sql, "SELECT * FROM t WHERE x = 17")
    assert read == files
    expected = sql("SELECT count(*), sum(id), sum(x) FROM t")
    (row,) = sql("CALL sys.compact('t', dry_run => true)")
    assert row[1] == files and sql("SELECT DISTINCT level FROM t$files") == [(0,)]
    (row,) = sql("CALL sys.compact('t')")
    assert (row[0], row[1], row[-1]) == (True, files, None)
    read, files = files_read(sql, query)
    assert read * 2 <= files
    assert sql("SELECT count(*), sum(id), sum(x) FROM t") == expected
    assert sql("SELECT count(*) FROM t$table_indexes") == [(0,)], "rows that vectors delete are left out"
    assert sql("SELECT DISTINCT level FROM t$files") == [(5,)]
    (row,) = sql("CALL sys.compact(table => 't')")
    assert row[5] is None and "too few rows are new" in str(row[-1])
    (row,) = sql("CALL sys.compact(table => 't', compact_strategy => 'full')")
    assert row[5] is None and row[-1] == "all rows are clustered"
    with pytest.raises(Exception, match="takes no order_strategy"):
        sql("CALL sys.compact(table => 't', order_strategy => 'zorder', order_by => 'x')")


def test_new_rows_are_spread_by_ranges_before_they_are_written(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (id INT, `x.y` INT) TBLPROPERTIES ('clustering.columns'='x.y')")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        sql("INSERT INTO t SELECT id, id * 7919 % 1199999 FROM range(0, 1200000, 1, 4)")
    finally:
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    assert files_read(sql, "SELECT * FROM t WHERE `x.y` = 17") == (1, 2)
    assert sql("SELECT count(*), count(DISTINCT `x.y`) FROM t") == [(1200000, 1199999)]

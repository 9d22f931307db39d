"""Reads that merge the rows of postponed buckets (``postpone.merge-on-read``), through SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Sql

MERGED = "'bucket' = '-2', 'postpone.merge-on-read' = 'true'"


def waiting(sql: Sql, keys: str = "id", more: str = "", columns: str = "id INT, n INT, v STRING") -> None:
    """A table ``t`` of which reads see the rows that wait, written by Java's way: nothing but to the waiting bucket."""
    partitioned = "PARTITIONED BY (dt) " if "dt" in keys else ""
    sql(f"CREATE TABLE t ({columns}) {partitioned}TBLPROPERTIES ('primary-key' = '{keys}', {MERGED}{more})")


def later(sql: Sql, rows: str) -> None:
    """Insert rows that wait."""
    sql(f"INSERT INTO t /*+ OPTIONS('postpone.batch-write-fixed-bucket' = 'false') */ VALUES {rows}")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", [(1, 3, None), (2, 2, "b"), (3, 1, "z")]),
        (", 'merge-engine' = 'partial-update'", [(1, 3, "a"), (2, 2, "b"), (3, 1, "z")]),
        (", 'merge-engine' = 'first-row'", [(1, 1, "a"), (2, 2, "b"), (3, 5, "x")]),
        (
            ", 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum'",
            [(1, 4, "a"), (2, 2, "b"), (3, 6, "z")],
        ),
        (", 'sequence.field' = 'n'", [(1, 3, None), (2, 2, "b"), (3, 5, "x")]),
        (", 'deletion-vectors.enabled' = 'true'", [(1, 3, None), (2, 2, "b"), (3, 1, "z")]),
    ],
)
def test_rows_that_wait_are_merged_with_those_in_their_buckets(
    sql: Sql, more: str, expected: list[tuple[Any, ...]]
) -> None:
    waiting(sql, more=more)
    later(sql, "(1, 1, 'a'), (3, 5, 'x')")
    assert sql("SELECT id, v FROM t ORDER BY id") == [(1, "a"), (3, "x")]  # there are no real buckets yet
    sql("CALL sys.compact(table => 't')")
    later(sql, "(1, 3, NULL), (2, 2, 'b')")
    later(sql, "(3, 1, 'z')")
    assert sql("SELECT * FROM t ORDER BY id") == expected
    assert sql("SELECT count(*), sum(n) FROM t") == [(3, sum(int(str(n)) for _, n, _ in expected))]
    for key, n, v in expected:
        assert sql(f"SELECT v FROM t WHERE id = {key} AND n = {n}") == [(v,)]
    assert sql("SELECT id FROM t ORDER BY id LIMIT 1") == [(1,)]
    sql("CALL sys.compact(table => 't')")
    assert sql("SELECT * FROM t ORDER BY id") == expected


def test_conditions_hold_of_merged_rows(sql: Sql) -> None:
    waiting(sql)
    later(sql, "(1, 1, 'a'), (2, 2, 'b')")
    sql("CALL sys.compact(table => 't')")
    later(sql, "(1, 10, 'new')")
    assert sql("SELECT id FROM t WHERE n = 1") == sql("SELECT id FROM t WHERE v = 'a'") == []
    assert sql("SELECT id FROM t WHERE n > 5") == [(1,)]
    assert sql("SELECT min(n), max(n) FROM t") == [(2, 10)]
    sql("DELETE FROM t WHERE id = 2")
    assert sql("SELECT id FROM t") == [(1,)]
    sql("UPDATE t SET v = 'newer' WHERE id = 1")
    assert sql("SELECT * FROM t") == [(1, 10, "newer")]
    assert sql("SELECT count(*) FROM t /*+ OPTIONS('postpone.merge-on-read' = 'false') */") == [(2,)]
    sql("CALL sys.compact(table => 't')")
    assert sql("SELECT * FROM t") == [(1, 10, "newer")]


def test_partitions_have_buckets_of_their_own(sql: Sql) -> None:
    waiting(sql, "dt,id", ", 'postpone.default-bucket-num' = '3'", "id INT, n INT, dt STRING")
    later(sql, ", ".join(f"({i}, 1, 'a')" for i in range(20)))
    sql("CALL sys.compact(table => 't')")
    later(sql, ", ".join(f"({i}, 2, 'a'), ({i}, 5, 'b')" for i in range(10, 30)))
    assert sql("SELECT dt, count(*), sum(n) FROM t GROUP BY dt ORDER BY dt") == [("a", 30, 50), ("b", 20, 100)]
    assert sql("SELECT sum(n) FROM t WHERE dt = 'b' AND id < 15") == [(25,)]
    assert sql("SELECT count(*) FROM t VERSION AS OF 1") == [(20,)]
    assert sql("SELECT count(*) FROM t AS x JOIN t AS y USING (dt, id)") == [(50,)]


def test_streams_begin_without_rows_that_wait(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    waiting(sql)
    later(sql, "(1, 1, 'a')")
    sql("CREATE TABLE copied (id INT, n INT, v STRING)")
    expected: list[tuple[Any, ...]] = []
    for checkpoint in ("first", "second"):
        stream = spark.readStream.table("t").writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(tmp_path / checkpoint)).toTable("copied").awaitTermination()
        assert sql("SELECT * FROM copied") == expected
        sql("CALL sys.compact(table => 't')")
        expected = [(1, 1, "a")]

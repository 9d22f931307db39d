"""Tables whose primary key holds some of the partition columns, through statements, workers and streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]

ENGINES = {
    "deduplicate": "'merge-engine' = 'deduplicate'",
    "vectors": "'deletion-vectors.enabled' = 'true'",
    "lookup": "'changelog-producer' = 'lookup'",
    "partial-update": "'merge-engine' = 'partial-update'",
    "aggregation": "'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum'",
    "first-row": "'merge-engine' = 'first-row'",
}
MOVING = ("deduplicate", "vectors", "lookup")


def made(sql: Sql, engine: str) -> None:
    sql(
        "CREATE TABLE x (k INT, p1 STRING, p2 STRING, n INT) PARTITIONED BY (p1, p2)"
        f" TBLPROPERTIES ('primary-key' = 'k,p1', 'dynamic-bucket.target-row-num' = '30', {ENGINES[engine]})"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_whole_key_tells_rows_apart_whoever_writes_them(sql: Sql, engine: str) -> None:
    made(sql, engine)
    sql("INSERT INTO x VALUES (1, 'a', 'b', 1), (1, 'b', 'b', 2)")
    assert sorted(sql("SELECT * FROM x")) == [(1, "a", "b", 1), (1, "b", "b", 2)]
    # Many rows are brought to their keys by workers.
    many = (
        "SELECT /*+ REPARTITION(3) */ CAST(id % 50 AS INT), concat('p', id % 2), concat('q', id % 3), {} FROM range({})"
    )
    pairs = (
        "SELECT /*+ REPARTITION(2) */ CAST(id AS INT), p1, 'q0', 5"
        " FROM range(50) CROSS JOIN VALUES ('p0'), ('p1') AS t(p1)"
    )
    sql("INSERT INTO x " + pairs)
    assert sql("SELECT p1, count(*) FROM x WHERE p1 LIKE 'p%' GROUP BY p1 ORDER BY p1") == [("p0", 50), ("p1", 50)]
    sql("INSERT INTO x " + many.format(7, 50))
    found = sql("SELECT count(*), count(DISTINCT k, p1), sum(n), count_if(p2 = 'q0') FROM x WHERE p1 LIKE 'p%'")
    changed = {"aggregation": 50 * 7, "first-row": 0}.get(engine, 50 * 2)
    moved = 17 + 50 if engine in MOVING else 100
    assert found == [(100, 100, 100 * 5 + changed, moved)]


@pytest.mark.parametrize("engine", MOVING)
def test_rows_are_changed_and_moved_by_their_whole_key(sql: Sql, engine: str) -> None:
    made(sql, engine)
    sql("INSERT INTO x SELECT CAST(id AS INT), p1, 'q', 0 FROM range(4) CROSS JOIN VALUES ('a'), ('b') AS t(p1)")
    sql("UPDATE x SET p2 = 'r', n = 1 WHERE k = 1 AND p1 = 'a'")
    sql("DELETE FROM x WHERE k = 2 AND p1 = 'b'")
    sql(
        "MERGE INTO x USING"
        " (SELECT * FROM VALUES (3, 'a', 's', 3), (3, 'c', 's', 4), (0, 'b', 'gone', 0) AS t(k, p1, p2, n)) s"
        " ON x.k = s.k AND x.p1 = s.p1 WHEN MATCHED AND s.p2 = 'gone' THEN DELETE WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    expected = [
        (0, "a", "q", 0),
        (1, "a", "r", 1),
        (1, "b", "q", 0),
        (2, "a", "q", 0),
        (3, "a", "s", 3),
        (3, "b", "q", 0),
        (3, "c", "s", 4),
    ]
    assert sorted(sql("SELECT * FROM x")) == expected
    sql("CALL sys.compact(table => 'x')")
    assert sorted(sql("SELECT * FROM x")) == expected
    sql("INSERT OVERWRITE x PARTITION (p1 = 'a', p2 = 'q') VALUES (3, 30)")
    assert sorted(sql("SELECT * FROM x WHERE p1 = 'a'")) == [(1, "a", "r", 1), (3, "a", "q", 30)]
    assert sorted(sql("SELECT * FROM x WHERE p1 <> 'a'")) == [row for row in expected if row[1] != "a"]


@pytest.mark.parametrize("options", [ENGINES["partial-update"], "'ignore-delete' = 'true'"])
def test_an_update_that_would_not_move_a_row_is_refused(sql: Sql, options: str) -> None:
    sql(
        "CREATE TABLE x (k INT, p1 STRING, p2 STRING, n INT) PARTITIONED BY (p1, p2)"
        f" TBLPROPERTIES ('primary-key' = 'k,p1', {options})"
    )
    sql("INSERT INTO x VALUES (1, 'a', 'b', 1)")
    with pytest.raises(Exception, match="UPDATE cannot set p2, as rows of this table stay in their partitions"):
        sql("UPDATE x SET P2 = 'c', n = 2 WHERE k = 1")
    sql("UPDATE x SET n = 2 WHERE k = 1")
    assert sql("SELECT * FROM x") == [(1, "a", "b", 2)]


def test_a_stream_moves_rows_by_their_whole_key(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    made(sql, "deduplicate")
    sql("INSERT INTO x VALUES (1, 'a', 'old', 0), (1, 'b', 'old', 0), (2, 'a', 'old', 0)")
    for number, rows in enumerate(
        ["(1, 'a', 'new', 1), (3, 'a', 'new', 1)", "(3, 'a', 'newer', 2), (3, 'b', 'new', 2)"]
    ):
        spark.sql(f"SELECT * FROM VALUES {rows} AS t(k, p1, p2, n)").write.parquet(str(tmp_path / "in" / str(number)))
        stream = spark.readStream.schema("k INT, p1 STRING, p2 STRING, n INT").parquet(str(tmp_path / "in" / "*"))
        writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable("x").awaitTermination()
    assert sorted(sql("SELECT * FROM x")) == [
        (1, "a", "new", 1),
        (1, "b", "old", 0),
        (2, "a", "old", 0),
        (3, "a", "newer", 2),
        (3, "b", "new", 2),
    ]

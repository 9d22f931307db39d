"""Tables whose primary key lacks partition columns, in fixed or postponed buckets: keys are unique in partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

BUCKETS = ("2", "-2")
ENGINES = {
    "deduplicate": "'merge-engine' = 'deduplicate'",
    "vectors": "'deletion-vectors.enabled' = 'true'",
    "lookup": "'changelog-producer' = 'lookup'",
    "partial-update": "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'",
    "aggregation": "'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum'",
    "first-row": "'merge-engine' = 'first-row'",
}


def made(sql: Sql, bucket: str, engine: str = "deduplicate", more: str = "") -> None:
    sql(
        "CREATE TABLE x (id INT, n BIGINT, pt STRING) PARTITIONED BY (pt)"
        f" TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '{bucket}', {ENGINES[engine]}{more})"
    )


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_stands_once_in_each_partition(sql: Sql, bucket: str, engine: str) -> None:
    made(sql, bucket, engine)
    sql("INSERT INTO x VALUES (1, 10, 'a'), (1, 20, 'b'), (1, 30, NULL), (2, 40, 'ü')")
    sql("INSERT INTO x VALUES (1, 5, 'a'), (1, 6, NULL)")
    sql("CALL sys.compact(table => 'x')")
    changed = {"aggregation": (15, 36), "first-row": (10, 30)}.get(engine, (5, 6))
    expected = {(1, changed[0], "a"), (1, 20, "b"), (1, changed[1], None), (2, 40, "ü")}
    assert set(sql("SELECT * FROM x")) == expected
    assert sql("SELECT count(*), count(DISTINCT id) FROM x") == [(4, 2)]
    assert set(sql("SELECT pt FROM x WHERE id = 1")) == {("a",), ("b",), (None,)}
    sql("DELETE FROM x WHERE id = 1 AND pt = 'b'")
    sql("CALL sys.compact(table => 'x')")
    assert set(sql("SELECT * FROM x")) == expected - {(1, 20, "b")}


@pytest.mark.parametrize("bucket", BUCKETS)
def test_rows_of_many_writers_and_local_merging_keep_partitions_apart(sql: Sql, bucket: str) -> None:
    made(sql, bucket, more=", 'local-merge-buffer-size' = '1 mb'")
    sql(
        "INSERT INTO x SELECT /*+ REPARTITION(3) */ CAST(id % 100 AS INT), id, concat('p', id DIV 100 % 3)"
        " FROM range(600) ORDER BY id"
    )
    assert sql("SELECT count(*), count(DISTINCT id, pt), count(DISTINCT id) FROM x") == [(300, 300, 100)]
    sql("INSERT OVERWRITE x PARTITION (pt = 'p1') VALUES (7, -1), (8, -2)")
    assert sql("SELECT pt, count(*) FROM x GROUP BY pt ORDER BY pt") == [("p0", 100), ("p1", 2), ("p2", 100)]


def test_changes_of_rows_stay_in_their_partition(sql: Sql) -> None:
    made(sql, "2")
    sql("INSERT INTO x VALUES (1, 10, 'a'), (1, 20, 'b'), (1, 30, NULL)")
    sql("UPDATE x SET n = n + 1 WHERE pt = 'b'")
    sql("UPDATE x SET n = 0 WHERE pt IS NULL")
    assert set(sql("SELECT * FROM x")) == {(1, 10, "a"), (1, 21, "b"), (1, 0, None)}
    with pytest.raises(Exception, match="UPDATE cannot set pt"):
        sql("UPDATE x SET pt = 'c' WHERE pt = 'b'")
    source = "MERGE INTO x USING (SELECT 1 id, 7L n, 'a' pt UNION ALL SELECT 1, 8L, NULL UNION ALL SELECT 1, 9L, 'd') s"
    sql(
        f"{source} ON x.id = s.id AND x.pt <=> s.pt WHEN MATCHED AND s.n = 7 THEN DELETE WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = -1"
    )
    assert set(sql("SELECT * FROM x")) == {(1, -1, "b"), (1, 8, None), (1, 9, "d")}
    with pytest.raises(Exception, match="would change column pt of the primary key or the partition"):
        sql(
            "MERGE INTO x USING (SELECT 1 id, 'z' pt) s ON x.id = s.id AND x.pt = 'b'"
            " WHEN MATCHED THEN UPDATE SET pt = s.pt"
        )
    assert set(sql("SELECT * FROM x")) == {(1, -1, "b"), (1, 8, None), (1, 9, "d")}


def test_partitions_expire_and_changes_are_told_by_partition(sql: Sql) -> None:
    made(sql, "2", "lookup")
    sql("INSERT INTO x VALUES (1, 10, '2020-01-01'), (1, 20, '2999-01-01')")
    sql("INSERT INTO x VALUES (1, 11, '2020-01-01')")
    told = sql("SELECT rowkind, id, n, pt FROM `x$audit_log` ORDER BY pt")
    assert told == [("+I", 1, 11, "2020-01-01"), ("+I", 1, 20, "2999-01-01")]
    sql(
        "CALL sys.expire_partitions(table => 'x', expiration_time => '1 d', timestamp_formatter => 'yyyy-MM-dd',"
        " expire_strategy => 'values-time')"
    )
    assert sql("SELECT * FROM x") == [(1, 20, "2999-01-01")]


def test_changes_of_commits_tell_keys_of_partitions_apart(sql: Sql) -> None:
    made(sql, "1", "lookup")
    sql("INSERT INTO x VALUES (1, 10, 'a'), (1, 20, 'b'), (1, 30, NULL)")
    sql("INSERT INTO x VALUES (1, 11, 'a'), (1, 31, NULL)")
    told = sql("SELECT n, pt, _change_type FROM x CHANGES FROM VERSION 1 WHERE _commit_version > 2 ORDER BY n")
    assert told == [
        (10, "a", "update_preimage"),
        (11, "a", "update_postimage"),
        (30, None, "update_preimage"),
        (31, None, "update_postimage"),
    ]

"""UPDATE, MERGE and DELETE of tables with data evolution: only changed columns are written, into files beside."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]
EVOLVING = "TBLPROPERTIES ('row-tracking.enabled'='true', 'data-evolution.enabled'='true')"
WITH_VECTORS = EVOLVING.replace(")", ", 'deletion-vectors.enabled'='true')")


def columns_written(sql: Sql) -> set[str]:
    """The columns that the last statement wrote, as far as none of their values is null."""
    (row,) = sql(
        "SELECT null_value_counts, record_count FROM t$files"
        " WHERE max_sequence_number = (SELECT max(snapshot_id) FROM t$snapshots)"
    )
    counts = dict(part.split("=") for part in str(row[0]).strip("{}").split(", "))
    return {name for name, nulls in counts.items() if nulls != str(row[1])}


def test_an_update_writes_the_columns_that_it_sets(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, n INT, s STRUCT<a: INT, b: STRING>, v STRING) {EVOLVING}")
    sql("INSERT INTO t VALUES (1, 10, struct(1, 'x'), 'a'), (2, NULL, NULL, 'b'), (3, 30, struct(3, 'z'), 'c')")
    sql("INSERT INTO t VALUES (4, 40, struct(4, 'w'), 'd')")
    assert sql("UPDATE t AS u SET u.n = u.n + id WHERE u.id IN (SELECT 1)") == [(1,)]
    assert columns_written(sql) == {"n"}
    assert sql("UPDATE t SET s.b = upper(s.b), v = 'V' WHERE id >= 3") == [(2,)]
    assert sql("SELECT id, n, s.a, s.b, v, _ROW_ID FROM t ORDER BY id") == [
        (1, 11, 1, "x", "a", 0),
        (2, None, None, None, "b", 1),
        (3, 30, 3, "Z", "V", 2),
        (4, 40, 4, "W", "V", 3),
    ]
    assert sql("UPDATE t SET v = 'x' WHERE id > 100") == [(0,)]
    assert sql("UPDATE t SET v = concat('r', _ROW_ID) WHERE _ROW_ID = 1") == [(1,)]
    assert sql("SELECT id, v FROM t WHERE v LIKE 'r%'") == [(2, "r1")]
    assert sql("SELECT count(*) FROM t") == [(4,)]
    assert sql("SELECT v FROM t VERSION AS OF 3 WHERE id = 3") == [("c",)]
    assert set(sql("SELECT commit_kind FROM t$snapshots")) == {("APPEND",)}


def test_a_merge_changes_columns_of_matched_rows_and_adds_others(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, b INT, c STRING) {EVOLVING}")
    sql("INSERT INTO t SELECT id, id * 10, concat('c', id) FROM range(0, 6, 1, 1)")
    merged = sql(
        "MERGE INTO t USING (SELECT id, -1 AS b FROM range(4, 8)) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET t.b = s.b + t.b WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.b)"
    )
    assert merged == [(4, 2, 0, 2)]
    expected = [(i, i * 10 - (i >= 4), f"c{i}", i) for i in range(6)] + [(6, -1, None, 6), (7, -1, None, 7)]
    assert sorted(sql("SELECT id, b, c, _ROW_ID FROM t"))[:6] == expected[:6]
    assert sorted(sql("SELECT id, b, c FROM t"))[6:] == [(6, -1, None), (7, -1, None)]
    assert sorted(sql("SELECT _ROW_ID FROM t")) == [(i,) for i in range(8)]
    assert sql("SELECT record_count FROM t$files ORDER BY ALL") == [(2,), (6,), (6,)]
    with pytest.raises(Exception, match=r"deletion-vectors\.enabled"):
        sql("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    with pytest.raises(Exception, match=r"(?i)cardinality|more than one|multiple"):
        sql(
            "MERGE INTO t USING (SELECT explode(array(1, 1)) AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = 0"
        )
    assert sorted(sql("SELECT id, b, c, _ROW_ID FROM t"))[:6] == expected[:6]


def test_a_merge_may_only_insert(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, b INT) {EVOLVING}")
    sql("INSERT INTO t VALUES (1, 10)")
    merged = sql(
        "MERGE INTO t USING (SELECT explode(array(1, 2)) AS id, 5 AS b) s ON t.id = s.id"
        " WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.b)"
    )
    assert merged == [(1, 0, 0, 1)]
    assert sql("SELECT id, b, _ROW_ID FROM t ORDER BY id") == [(1, 10, 0), (2, 5, 1)]


def test_changes_of_a_copy_are_newer_than_all_that_was_copied(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, a INT, b STRING) {EVOLVING}")
    for i in range(4):
        sql(f"INSERT INTO t VALUES ({i}, {i}, 'x')")
    sql("UPDATE t SET a = a + 100 WHERE id < 3")
    sql("UPDATE t SET a = a + 100 WHERE id = 1")
    sql("CALL sys.copy(source_table => 't', target_table => 'c')")
    assert sql("SELECT * FROM c ORDER BY id") == [(0, 100, "x"), (1, 201, "x"), (2, 102, "x"), (3, 3, "x")]
    sql("UPDATE c SET a = 7 WHERE id IN (1, 3)")
    sql("UPDATE c SET b = 'y' WHERE id = 1")
    assert sql("SELECT * FROM c ORDER BY id") == [(0, 100, "x"), (1, 7, "y"), (2, 102, "x"), (3, 7, "x")]


def test_a_merge_deletes_by_deletion_vectors(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, b INT, p STRING) PARTITIONED BY (p) {WITH_VECTORS}")
    sql("INSERT INTO t SELECT id, id * 10, CASE WHEN id % 2 = 0 THEN 'x' ELSE 'y' END FROM range(0, 8, 1, 1)")
    sql(
        "MERGE INTO t USING (SELECT id, if(id < 3, 'delete', 'update') AS op FROM range(2, 6)) s ON t.id = s.id"
        " WHEN MATCHED AND s.op = 'delete' THEN DELETE WHEN MATCHED THEN UPDATE SET b = b + 1"
        " WHEN NOT MATCHED BY SOURCE AND t.id > 6 THEN DELETE"
    )
    assert sql("SELECT id, b FROM t ORDER BY id") == [(0, 0), (1, 10), (3, 31), (4, 41), (5, 51), (6, 60)]
    sql("DELETE FROM t WHERE b = 31 OR id = 0")
    sql("UPDATE t SET b = 0")
    assert sql("SELECT id, b FROM t ORDER BY id") == [(1, 0), (4, 0), (5, 0), (6, 0)]
    sql("DELETE FROM t WHERE p = 'x'")
    assert sql("SELECT id FROM t ORDER BY id") == [(1,), (5,)]
    with pytest.raises(Exception, match="partition"):
        sql("UPDATE t SET p = 'z' WHERE id = 1")
    sql("DELETE FROM t")
    assert sql("SELECT count(*) FROM t") == [(0,)]


def test_updates_of_one_table_at_a_time_all_count(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, a INT, b INT) {EVOLVING}")
    sql("INSERT INTO t SELECT id, 0, 0 FROM range(0, 4, 1, 1)")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(sql, ["UPDATE t SET a = a + 1", "UPDATE t SET a = a + 10", "UPDATE t SET b = b + 1"]))
    assert sql("SELECT DISTINCT a, b FROM t") == [(11, 1)]


def test_columns_that_came_later_are_filled_beside(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, v STRING) {EVOLVING}")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("ALTER TABLE t ADD COLUMN w INT")
    sql("UPDATE t SET w = id * 2 WHERE id = 2")
    sql("ALTER TABLE t RENAME COLUMN v TO u")
    sql("INSERT INTO t VALUES (3, 'c', 6)")
    sql("MERGE INTO t USING (SELECT 1 AS id, 'z' AS u, 9 AS w) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    assert sql("SELECT id, u, w FROM t ORDER BY id") == [(1, "z", 9), (2, "b", 4), (3, "c", 6)]
    assert sql("SELECT id FROM t WHERE w IS NULL") == []


def test_many_rows_are_changed_by_workers(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id BIGINT, a STRING, b BIGINT, p INT) PARTITIONED BY (p) {WITH_VECTORS}")
    sql("INSERT INTO t SELECT id, repeat(uuid(), 8), id, id % 3 FROM range(0, 60000, 1, 2)")
    sql("DELETE FROM t WHERE id % 10 = 0")
    changed = sql(
        "MERGE INTO t USING (SELECT id, id * 2 AS b FROM range(0, 70000, 7)) s ON t.id = s.id"
        " WHEN MATCHED AND t.id % 5 = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET b = s.b"
        " WHEN NOT MATCHED THEN INSERT (id, b, p) VALUES (s.id, s.b, 0)"
    )
    ids = [i for i in range(60000) if i % 10]
    matched = [i for i in ids if i % 7 == 0]
    deleted = [i for i in matched if i % 5 == 1]
    added = [i for i in range(0, 70000, 7) if i >= 60000 or i % 10 == 0]
    assert changed == [(len(matched) + len(added), len(matched) - len(deleted), len(deleted), len(added))]
    model = {i: (i * 2 if i % 7 == 0 else i) for i in ids if not (i % 7 == 0 and i % 5 == 1)}
    model |= {i: i * 2 for i in added}
    assert dict(sql("SELECT id, b FROM t")) == model
    assert sql("SELECT count(DISTINCT _ROW_ID), count(*), count(a) FROM t") == [
        (len(model), len(model), len(model) - len(added))
    ]

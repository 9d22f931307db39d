"""DELETE, by new rows, rewritten files, deletion vectors and metadata alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]
KEYED = "TBLPROPERTIES ('primary-key'='id', 'bucket'='2')"
VECTORS = "TBLPROPERTIES ('deletion-vectors.enabled'='true')"


@pytest.mark.parametrize("properties", [KEYED, "", VECTORS])
def test_a_delete_takes_the_rows_of_its_condition_and_says_how_many(sql: Sql, properties: str) -> None:
    sql(f"CREATE TABLE t (id INT, v STRING) {properties}")
    sql("INSERT INTO t SELECT id, concat('v', id) FROM range(10)")
    assert sql("DELETE FROM t WHERE id % 2 = 0") == [(5,)]
    assert sql("WITH q AS (SELECT 3 AS x) DELETE FROM t d WHERE EXISTS (SELECT 1 FROM q WHERE x = d.id)") == [(1,)]
    assert sql("DELETE FROM t WHERE v = NULL") == [(0,)]
    assert sql("SELECT id FROM t ORDER BY id") == [(1,), (5,), (7,), (9,)]
    assert sql("DELETE FROM t WHERE v > 'v5'") == [(2,)]
    assert sql("DELETE FROM t") == [(2,)]
    assert sql("SELECT count(*) FROM t") == [(0,)]
    assert sql("SELECT count(*) FROM t VERSION AS OF 1") == [(10,)]
    sql("INSERT INTO t VALUES (1, 'back')")
    assert sql("SELECT * FROM t") == [(1, "back")]


@pytest.mark.parametrize("key", ["", "'primary-key'='id,p', "])
def test_whole_partitions_go_by_metadata_alone(sql: Sql, key: str) -> None:
    sql(f"CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({key}'bucket'='1', 'bucket-key'='id')")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'a')")
    kept = {path for path, p in sql("SELECT file_path, partition FROM t$files") if "c" in str(p)}
    assert sql("DELETE FROM t WHERE p IN ('a', 'b')") == [(3,)]
    assert {path for (path,) in sql("SELECT file_path FROM t$files")} == kept
    assert sql("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id") == [("APPEND",), ("OVERWRITE",)]


def test_deletion_vectors_leave_files_as_they_are_until_all_rows_are_gone(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT) {VECTORS}")
    sql("INSERT INTO t SELECT id FROM range(0, 6, 1, 1)")
    sql("INSERT INTO t SELECT id FROM range(6, 9, 1, 1)")
    before = sql("SELECT file_path FROM t$files ORDER BY 1")
    sql("DELETE FROM t WHERE id IN (1, 7)")
    sql("DELETE FROM t WHERE id = 2")
    assert sql("SELECT file_path FROM t$files ORDER BY 1") == before
    assert sql("SELECT id FROM t ORDER BY id") == [(i,) for i in (0, 3, 4, 5, 6, 8)]
    assert sql("DELETE FROM t WHERE id > 5") == [(2,)]
    assert len(sql("SELECT file_path FROM t$files")) == 1
    assert sql("SELECT id FROM t ORDER BY id") == [(i,) for i in (0, 3, 4, 5)]


@pytest.mark.parametrize("engine", ["aggregation", "partial-update", "first-row"])
def test_engines_without_deletes_lose_all_rows_of_the_keys(sql: Sql, engine: str) -> None:
    sql(
        "CREATE TABLE t (id INT, p STRING, n INT) PARTITIONED BY (p) TBLPROPERTIES"
        f" ('primary-key'='id,p', 'bucket'='2', 'merge-engine'='{engine}')"
    )
    sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (1, 'b', 3), (3, 'b', 4)")
    sql("INSERT INTO t VALUES (1, 'a', 10), (2, 'a', 20)")
    if engine == "first-row":
        sql("CALL sys.compact(table => 't', compact_strategy => 'full')")
    assert sql("DELETE FROM t WHERE id = 1 AND n > 0") == [(2,)]
    assert [row[:2] for row in sql("SELECT * FROM t ORDER BY p, id")] == [(2, "a"), (3, "b")]
    sql("INSERT INTO t VALUES (1, 'a', 7)")
    if engine == "first-row":
        sql("CALL sys.compact(table => 't', compact_strategy => 'full')")
    assert sql("SELECT n FROM t WHERE id = 1 AND p = 'a'") == [(7,)]


def test_a_delete_is_refused_while_first_rows_wait_unseen_for_a_compaction(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true',"
        " 'merge-engine' = 'first-row', 'changelog-producer' = 'lookup')"
    )
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    with pytest.raises(Exception, match=r"wait for a compaction.*sys\.compact"):
        sql("DELETE FROM t WHERE id = 1")
    sql("CALL sys.compact(table => 't')")
    sql("DELETE FROM t WHERE id = 1")
    assert sql("SELECT * FROM t") == [(2, "b")]


def test_a_deleted_row_keeps_its_values_in_the_log(sql: Sql) -> None:
    sql(f"CREATE TABLE t (id INT, v STRING NOT NULL) {KEYED}")
    sql("INSERT INTO t VALUES (1, 'a')")
    sql("MERGE INTO t USING (SELECT 1 AS x) ON id = x WHEN MATCHED THEN DELETE")
    assert sql("SELECT count(*) FROM t") == [(0,)]
    assert sql("SELECT rowkind, id, v FROM t$audit_log") == [("-D", 1, "a")]

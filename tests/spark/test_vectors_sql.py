"""Columns of vectors in SQL, with files of their own and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]
EVOLVING = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
VECTOR = "'vector-field' = 'e', 'field.e.vector-dim' = '3'"
ROWS = [(1, [0.5, 0.25, 1.0], "a"), (2, None, "ü"), (3, [0.0, -1.0, 2.0], None)]


def made(sql: Sql, *options: str) -> None:
    sql(f"CREATE TABLE t (id INT, e ARRAY<FLOAT>, s STRING) TBLPROPERTIES ({', '.join((EVOLVING, VECTOR, *options))})")


def filled(sql: Sql, *options: str) -> None:
    made(sql, *options)
    sql("INSERT INTO t VALUES (1, array(0.5, 0.25, 1.0), 'a'), (2, NULL, 'ü')")
    sql("INSERT INTO t VALUES (3, array(0.0, -1.0, 2.0), NULL)")


@pytest.mark.parametrize("own", ["'vector.file.format' = 'parquet'", "'vector.file.format' = 'avro'", "'x' = 'y'"])
def test_vectors_are_read_as_they_were_written(sql: Sql, own: str) -> None:
    filled(sql, own)
    apart = "vector" in own
    assert sql("SELECT * FROM t ORDER BY id") == ROWS
    assert sql("SELECT s, id FROM t WHERE e[0] = 0.5") == [("a", 1)]
    assert sql("SELECT count(*), count(e) FROM t") == [(3, 2)]
    files = sql("SELECT count(*), count_if(file_path LIKE '%.vector.%') FROM `t$files`")
    assert files == [(4, 2) if apart else (2, 0)]
    sql("CALL sys.compact(table => 't', options => 'compaction.min.file-num=2')")
    assert sql("SELECT count_if(file_path LIKE '%.vector.%') FROM `t$files`") == [(2 if apart else 0,)]
    assert sql("SELECT * FROM t ORDER BY id") == ROWS
    sql("UPDATE t SET s = 'new' WHERE id = 3")
    sql("DELETE FROM t WHERE id = 2")
    expected = [ROWS[0], (3, [0.0, -1.0, 2.0], "new")]
    assert sql("SELECT * FROM t ORDER BY id") == expected
    sql("CALL sys.materialize_deletion_vectors(table => 't')")
    assert sql("SELECT * FROM t ORDER BY id") == expected
    sql("INSERT INTO t SELECT id + 10, e, s FROM t")
    assert sql("SELECT count(*), count(e) FROM t") == [(4, 4)]
    sql("INSERT OVERWRITE t SELECT * FROM t WHERE id > 10")
    assert sql("SELECT id, e FROM t ORDER BY id") == [(11, ROWS[0][1]), (13, [0.0, -1.0, 2.0])]


@pytest.mark.parametrize("size", ["1 b", "100 mb"])
def test_vectors_in_files_of_their_own_are_changed(sql: Sql, size: str) -> None:
    filled(sql, "'vector.file.format' = 'parquet'", f"'vector.target-file-size' = '{size}'")
    assert sql("UPDATE t SET e = array(1.0, 2.0, 3.0) WHERE id IN (2, 3)") == [(2,)]
    assert sql("SELECT id, e, s FROM t ORDER BY id") == [ROWS[0], (2, [1.0, 2.0, 3.0], "ü"), (3, [1.0, 2.0, 3.0], None)]
    assert sql("UPDATE t SET e = NULL, s = 'both' WHERE id = 1") == [(1,)]
    sql(
        "MERGE INTO t USING (SELECT explode(array(3, 9)) AS i) s ON t.id = s.i WHEN MATCHED THEN UPDATE SET"
        " e = array(9, 9, 9) WHEN NOT MATCHED THEN INSERT (id, e) VALUES (i, array(1, 2, 3))"
    )
    expected = [(1, None, "both"), (2, [1.0, 2.0, 3.0], "ü"), (3, [9.0, 9.0, 9.0], None), (9, [1.0, 2.0, 3.0], None)]
    assert sql("SELECT * FROM t ORDER BY id") == expected
    assert sql("SELECT count_if(array_contains(write_cols, 'e') AND file_path NOT LIKE '%.vector.%') FROM t$files") == [
        (0,)
    ]
    sql("CALL sys.compact(table => 't', options => 'compaction.min.file-num=2')")
    assert sql("SELECT * FROM t ORDER BY id") == expected
    sql("DELETE FROM t WHERE id = 9")
    sql("CALL sys.materialize_deletion_vectors(table => 't')")
    assert sql("SELECT * FROM t ORDER BY id") == expected[:3]


@pytest.mark.smoke
def test_one_of_several_vectors_is_changed(sql: Sql) -> None:
    sql(
        f"CREATE TABLE t (id INT, e ARRAY<FLOAT>, f ARRAY<INT>) TBLPROPERTIES ({EVOLVING}, 'vector-field' = 'e,f',"
        " 'field.e.vector-dim' = '1', 'field.f.vector-dim' = '2', 'vector.file.format' = 'parquet')"
    )
    sql("INSERT INTO t VALUES (1, array(1.0), array(1, 1)), (2, array(2.0), NULL)")
    sql("UPDATE t SET f = array(5, 6) WHERE id = 2")
    assert sql("SELECT * FROM t ORDER BY id") == [(1, [1.0], [1, 1]), (2, [2.0], [5, 6])]
    assert sql("SELECT e FROM t ORDER BY id") == [([1.0],), ([2.0],)]


def test_vectors_that_data_files_hold_are_changed_there(sql: Sql) -> None:
    filled(sql, "'x' = 'y'")
    sql("ALTER TABLE t SET TBLPROPERTIES ('vector.file.format' = 'parquet')")
    sql("UPDATE t SET e = array(1.0, 2.0, 3.0) WHERE id = 2")
    assert sql("SELECT id, e FROM t WHERE id = 2") == [(2, [1.0, 2.0, 3.0])]
    assert sql("SELECT count_if(file_path LIKE '%.vector.%') FROM `t$files`") == [(0,)]


@pytest.mark.parametrize(
    ("option", "reason"),
    [("vortex", "cannot be 'vortex'"), ("orc", "cannot be 'orc'")],
)
def test_formats_that_hold_no_vectors_are_refused(sql: Sql, option: str, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        made(sql, f"'vector.file.format' = '{option}'")
    with pytest.raises(Exception, match=r"vector\.file\.format.*needs 'data-evolution\.enabled'"):
        sql(f"CREATE TABLE t (id INT, e ARRAY<FLOAT>) TBLPROPERTIES ({VECTOR}, 'vector.file.format' = 'parquet')")


def test_a_vector_of_another_length_is_refused(sql: Sql) -> None:
    made(sql, "'vector.file.format' = 'parquet'")
    with pytest.raises(Exception, match=r"Column 'e' cannot take a value .* a vector has 3 elements"):
        sql("INSERT INTO t VALUES (1, array(1.0, 2.0), 'a')")
    with pytest.raises(Exception, match=r"Column 'e' cannot take a value .* a vector has no nulls"):
        sql("INSERT INTO t VALUES (1, array(1.0, NULL, 2.0), 'a')")
    assert sql("SELECT count(*) FROM t") == [(0,)]
    sql("INSERT INTO t VALUES (1, NULL, 'a')")
    sql("INSERT INTO t SELECT cast(id AS INT), NULL, 'a' FROM range(2, 10, 1, 1)")
    assert sql("SELECT count(*), count(e) FROM t") == [(9, 0)]

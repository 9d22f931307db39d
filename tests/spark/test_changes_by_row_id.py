"""MERGE, UPDATE and DELETE that name rows by their ids (``_ROW_ID``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException

Sql = Callable[[str], list[tuple[Any, ...]]]
TRACKED = "'row-tracking.enabled'='true'"
EVOLVING = f"{TRACKED}, 'data-evolution.enabled'='true'"
WITH_VECTORS = f"{EVOLVING}, 'deletion-vectors.enabled'='true'"


@pytest.fixture
def tables(sql: Sql) -> Callable[[str], None]:
    """Makes a target ``t`` with options, and a source ``s`` whose rows have ids, too."""

    def make(options: str) -> None:
        sql(f"CREATE TABLE t (id INT, b INT, c STRING) TBLPROPERTIES ({options})")
        sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")
        sql(f"CREATE TABLE s (id INT, b INT, c STRING) TBLPROPERTIES ({EVOLVING})")
        sql("INSERT INTO s VALUES (10, 10, 'w'), (20, 20, 'x'), (30, 30, 'y'), (40, 40, 'z')")

    return make


@pytest.mark.smoke
@pytest.mark.parametrize("options", [TRACKED, EVOLVING, WITH_VECTORS])
def test_a_merge_joins_by_the_ids_of_both_tables(sql: Sql, tables: Callable[[str], None], options: str) -> None:
    tables(options)
    assert sql(
        "MERGE INTO t USING s ON t._ROW_ID = s._ROW_ID WHEN MATCHED AND t.id < 3 THEN UPDATE SET t.b = s.b + t.b"
        " WHEN NOT MATCHED AND s.c > 'd' THEN INSERT (id, b, c) VALUES (s.id, s.b, s.c)"
    ) == [(3, 2, 0, 1)]
    rows = [(1, 11, "a", 0), (2, 22, "b", 1), (3, 3, "c", 2), (40, 40, "z", 3)]
    assert sql("SELECT *, _ROW_ID FROM t ORDER BY id") == rows
    sql("MERGE INTO t USING s ON t._ROW_ID = s._ROW_ID WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert sql("SELECT *, _ROW_ID FROM t ORDER BY id") == sql("SELECT *, _ROW_ID FROM s ORDER BY id")


@pytest.mark.parametrize("options", [TRACKED, EVOLVING])
def test_the_source_may_be_the_table_itself_or_a_query_of_ids(
    sql: Sql, tables: Callable[[str], None], options: str
) -> None:
    tables(options)
    sql("MERGE INTO t USING t AS old ON t._ROW_ID = old._ROW_ID WHEN MATCHED THEN UPDATE SET b = old.id + 100")
    sql(
        "MERGE INTO t USING (SELECT _ROW_ID AS r, c FROM s WHERE id > 10) q ON t._ROW_ID = q.r"
        " WHEN MATCHED THEN UPDATE SET c = q.c"
    )
    sql("MERGE INTO t USING (SELECT 0L AS r) q ON t._ROW_ID = q.r WHEN MATCHED THEN UPDATE SET id = -1")
    assert sql("SELECT *, _ROW_ID FROM t ORDER BY _ROW_ID") == [(-1, 101, "a", 0), (2, 102, "x", 1), (3, 103, "y", 2)]


@pytest.mark.parametrize("options", [TRACKED, WITH_VECTORS])
def test_updates_and_deletes_name_rows_by_their_ids_and_use_them(
    sql: Sql, tables: Callable[[str], None], options: str
) -> None:
    tables(options)
    sql("UPDATE t SET b = CAST(_ROW_ID + 50 AS INT), c = concat(c, _ROW_ID) WHERE _ROW_ID > 0")
    sql("DELETE FROM t WHERE _ROW_ID = 1")
    sql("MERGE INTO t USING s ON t._ROW_ID = s._ROW_ID WHEN MATCHED AND s.id = 10 THEN DELETE")
    assert sql("SELECT *, _ROW_ID FROM t") == [(3, 52, "c2", 2)]


def test_columns_that_are_no_ids_may_be_named_as_well(sql: Sql, tables: Callable[[str], None]) -> None:
    tables(TRACKED)
    sql(
        "MERGE INTO t USING (SELECT __paimon_file_path AS f, __paimon_row_index AS i FROM t WHERE id = 2) q"
        " ON t.__paimon_file_path = q.f AND t.__paimon_row_index = q.i WHEN MATCHED THEN UPDATE SET b = 0"
    )
    assert sql("SELECT id, b FROM t ORDER BY id") == [(1, 1), (2, 0), (3, 3)]


@pytest.mark.smoke
@pytest.mark.parametrize("options", [TRACKED, EVOLVING])
def test_values_that_spark_has_to_cast_may_stand_beside_ids(
    sql: Sql, tables: Callable[[str], None], options: str
) -> None:
    tables(options)
    sql(
        "MERGE INTO t USING (SELECT id / 10 - 1 AS r, b, c FROM s WHERE b > 20) q ON t._ROW_ID = q.r"
        " WHEN MATCHED THEN UPDATE SET b = q.b * 1.5 + t.b"
        " WHEN NOT MATCHED THEN INSERT (id, b) VALUES (r * 2.0, b * 1.1)"
    )
    assert sql("SELECT * FROM t ORDER BY id") == [(1, 1, "a"), (2, 2, "b"), (3, 48, "c"), (6, 44, None)]
    sql("UPDATE t SET b = _ROW_ID * 1.5 + b WHERE _ROW_ID = 1")
    assert sql("SELECT b FROM t ORDER BY id") == [(1,), (3,), (48,), (44,)]


KINDS = {
    "append": "'bucket' = '-1'",
    "buckets": "'bucket' = '3', 'bucket-key' = 'id'",
    "evolving": "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'",
    "deletion vectors": "'primary-key' = 'id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
}


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_columns_stand_beside_texts_of_a_length(sql: Sql, kind: str) -> None:
    sql(f"CREATE TABLE t (id INT, c CHAR(5), v VARCHAR(4)) TBLPROPERTIES ({KINDS[kind]})")
    sql("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'é', 'y'), (3, NULL, NULL)")
    source = "SELECT id AS i, __paimon_file_path AS f, __paimon_row_index AS r FROM t WHERE c = 'é'"
    merge = f"MERGE INTO t USING ({source}) q ON t.__paimon_file_path = q.f AND t.__paimon_row_index = q.r"
    assert sql(f"{merge} WHEN MATCHED AND t.c = 'é' THEN UPDATE SET v = 'z', c = 'ü'") == [(1, 1, 0, 0)]
    assert sql("UPDATE t SET v = concat('b', __paimon_bucket) WHERE __paimon_bucket >= 0 AND c = 'a'") == [(1,)]
    rows = sql("SELECT id, c, substring(v, 1, 1) FROM t ORDER BY id")
    assert rows == [(1, "a    ", "b"), (2, "ü    ", "z"), (3, None, None)]
    with pytest.raises(PySparkException, match=r"limit|length|exceeds"):
        sql("UPDATE t SET v = 'too long' WHERE __paimon_row_index >= 0")
    assert sql("SELECT id, c, substring(v, 1, 1) FROM t ORDER BY id") == rows


@pytest.mark.parametrize("kind", ["append", "buckets", "deletion vectors"])
def test_rows_are_deleted_by_where_they_stand(sql: Sql, kind: str) -> None:
    options = KINDS[kind].replace("'primary-key' = 'id'", "'primary-key' = 'id,p'")
    sql(f"CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    assert sql("DELETE FROM t WHERE __paimon_partition.p = 'b' AND __paimon_bucket >= 0 AND id > 2") == [(1,)]
    found = "__paimon_bucket >= 0 AND id IN (SELECT id FROM w)"
    assert sql(f"WITH w AS (SELECT 2 AS id) DELETE FROM t WHERE {found}") == [(1,)]
    assert sql("SELECT * FROM t") == [(1, "a")]


@pytest.mark.smoke
def test_rows_that_are_merged_are_changed_by_their_bucket(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, c CHAR(3), v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4')")
    sql("INSERT INTO t SELECT id, 'a', id FROM range(20)")
    sql("INSERT INTO t SELECT id, 'b', id FROM range(10)")
    ((count,),) = sql("SELECT count(*) FROM t WHERE __paimon_bucket = 1")
    assert sql("UPDATE t SET v = -1 WHERE __paimon_bucket = 1") == [(count,)]
    assert sql("SELECT count(*), min(v) FROM t WHERE __paimon_bucket = 1") == [(count, -1)]
    merge = "MERGE INTO t USING (SELECT 1 AS b) q ON t.__paimon_bucket = q.b WHEN MATCHED AND t.c = 'b' THEN DELETE"
    sql(merge)
    assert sql("SELECT count(*) FROM t WHERE __paimon_bucket = 1 AND c = 'b'") == [(0,)]
    assert sql("SELECT count(*) FROM t WHERE v >= 0") == [(20 - count,)]

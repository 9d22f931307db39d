"""Hidden columns: asked for by name, never shown by ``*``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]


def test_a_row_is_found_again_by_its_file_and_place(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, b STRING)")
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    sql("INSERT INTO t VALUES (3, 'z')")
    rows = sql("SELECT a, __paimon_file_path, __paimon_row_index FROM t ORDER BY a")
    assert [r[2] for r in rows] == [0, 1, 0]
    files = {r[0] for r in sql("SELECT file_path FROM `t$files`")}
    assert {r[1] for r in rows} == files
    assert sql(f"SELECT a FROM t WHERE __paimon_file_path = '{rows[2][1]}'") == [(3,)]
    assert len(sql("SELECT * FROM t")[0]) == 2


def test_hidden_columns_alone_still_count_the_rows(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, p INT) PARTITIONED BY (p)")
    sql("INSERT INTO t VALUES (1, 1), (2, 1), (3, NULL)")
    grouped = sql("SELECT __paimon_partition.p, __paimon_bucket, count(*) FROM t GROUP BY 1, 2 ORDER BY 1")
    assert grouped == [(None, 0, 1), (1, 0, 2)]
    assert sql("SELECT count(__paimon_bucket) FROM t WHERE a > 1") == [(2,)]


def test_a_table_without_partitions_has_a_partition_without_columns(sql: Sql) -> None:
    for clause in ("'file.format' = 'parquet'", "'file.format' = 'orc'", "'primary-key' = 'a', 'bucket' = '1'"):
        sql(f"CREATE OR REPLACE TABLE t (a INT, b STRING) TBLPROPERTIES ({clause})")
        sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        sql("INSERT INTO t VALUES (1, 'z')")
        rows = sql("SELECT __paimon_partition, __paimon_bucket, b FROM t ORDER BY b DESC")
        assert {tuple(partition) for partition, *_ in rows} == {()}
        assert rows[0][1:] == (0, "z")


def test_merged_rows_have_a_bucket_but_no_place(sql: Sql) -> None:
    sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')")
    sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    sql("INSERT INTO t VALUES (1, 10)")
    assert sql("SELECT k, v, __paimon_bucket FROM t ORDER BY k") == [(1, 10, 0), (2, 2, 0), (3, 3, 1)]
    assert sql("SELECT v, __paimon_bucket FROM t WHERE k = 1") == [(10, 0)]
    with pytest.raises(Exception, match="__paimon_row_index is not known for rows that are merged"):
        sql("SELECT k, __paimon_row_index FROM t")


def test_a_column_of_ones_own_wins_over_a_hidden_one(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, __paimon_bucket STRING)")
    sql("INSERT INTO t VALUES (1, 'mine')")
    assert sql("SELECT __paimon_bucket, __paimon_row_index FROM t") == [("mine", 0)]


def test_places_count_the_rows_of_old_schemas_too(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t VALUES (1), (2)")
    sql("ALTER TABLE t ADD COLUMN b STRING")
    sql("INSERT INTO t VALUES (3, 'x')")
    assert sql("SELECT b, a, __paimon_row_index FROM t ORDER BY a") == [(None, 1, 0), (None, 2, 1), ("x", 3, 0)]

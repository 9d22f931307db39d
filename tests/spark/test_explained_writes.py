"""EXPLAIN of writes: one line says what becomes of the rows, and nothing is written."""

from __future__ import annotations

import logging

import pytest

from tests.spark.conftest import Sql

KEYED = (
    "CREATE TABLE t (id INT, p STRING, v STRING, PRIMARY KEY (id, p) NOT ENFORCED) PARTITIONED BY (p)"
    " TBLPROPERTIES ('bucket' = '2', 'merge-engine' = 'partial-update', 'changelog-producer' = 'lookup')"
)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("INSERT INTO t VALUES (1, 'a', 'x')", "append"),
        ("INSERT OVERWRITE t VALUES (1, 'a', 'x')", "overwrite of the whole table"),
        ("INSERT OVERWRITE t PARTITION (p = 'a') SELECT 1, 'x'", "overwrite where p = a"),
    ],
)
def test_a_write_to_a_keyed_table_shows_scope_buckets_merge_engine_and_changelog(
    sql: Sql, statement: str, shown: str
) -> None:
    sql(KEYED)
    ((plan,),) = sql(f"EXPLAIN {statement}")
    assert f"t ({shown}, 2 buckets by id, merge engine partial-update, changelog producer lookup)" in plan
    assert sql("SELECT * FROM `t$snapshots`") == []


def test_a_dynamic_overwrite_says_that_its_rows_choose_the_partitions(sql: Sql) -> None:
    sql("CREATE TABLE a (id INT, p STRING) PARTITIONED BY (p)")
    sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    try:
        ((plan,),) = sql("EXPLAIN INSERT OVERWRITE a SELECT 1, 'x'")
    finally:
        sql("RESET spark.sql.sources.partitionOverwriteMode")
    assert "a (overwrite of the partitions of the rows, bucket mode BUCKET_UNAWARE)" in plan


def test_the_log_says_who_writes_the_rows(sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    sql("CREATE TABLE a (id INT)")
    with caplog.at_level(logging.DEBUG, logger="paimon_sql.writes"):
        sql("INSERT INTO a VALUES (1)")
        sql("INSERT INTO a SELECT id + 1 FROM a")
        sql("INSERT INTO a SELECT id FROM a GROUP BY id")
    writers = [r.getMessage().partition(" is written by ")[2] for r in caplog.records]
    assert writers == ["the driver", "one task", "tasks that own their buckets"]

"""Flink's scripts as they are pasted: statement sets, watermarks, computed columns, temporary tables."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from paimon_sql.sql.statements.tables.create_table import UNSTORED_SETTING
from tests.spark.conftest import Sql

PASTED = """
CREATE TABLE {} (
    id BIGINT,
    price DECIMAL(10, 2),
    at TIMESTAMP(3),
    cents AS CAST(price * 100 AS BIGINT),
    source STRING METADATA FROM 'topic' VIRTUAL,
    WATERMARK FOR at AS at - INTERVAL '5' SECOND,
    PRIMARY KEY (id) NOT ENFORCED
) WITH ('bucket' = '1')
"""


def test_what_a_table_does_not_store_is_left_out_with_a_warning(sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    sql(PASTED.format("t"))
    assert [row[:2] for row in sql("DESCRIBE t")] == [
        ("id", "bigint"),
        ("price", "decimal(10,2)"),
        ("at", "timestamp_ntz"),
    ]
    (warning,) = [r.getMessage() for r in caplog.records if "leaves out" in r.getMessage()]
    assert (
        "CREATE TABLE t leaves out the computed column cents, the metadata column source, WATERMARK FOR at" in warning
    )
    sql("INSERT INTO t VALUES (1, 2.50, TIMESTAMP_NTZ'2026-01-01 00:00:00')")
    assert sql("SELECT count(*) FROM t") == [(1,)]


def test_a_session_can_refuse_what_is_not_stored(sql: Sql, spark: SparkSession) -> None:
    spark.conf.set(UNSTORED_SETTING, "refuse")
    try:
        with pytest.raises(Exception, match="do not store watermarks, computed and metadata columns"):
            sql(PASTED.format("t"))
    finally:
        spark.conf.unset(UNSTORED_SETTING)
    assert sql("SHOW TABLES") == []


def test_a_temporary_table_is_refused_with_the_users_own_text(sql: Sql) -> None:
    with pytest.raises(Exception, match="Paimon has no temporary tables") as caught:
        sql("CREATE TEMPORARY TABLE source (id BIGINT) WITH ('connector' = 'datagen')")
    assert "TBLPROPERTIES" not in str(caught.value)


@pytest.mark.parametrize("words", ["EXECUTE STATEMENT SET BEGIN", "BEGIN STATEMENT SET;"])
def test_the_inserts_of_a_statement_set_run_in_order(sql: Sql, words: str) -> None:
    sql("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')")
    sql("CREATE TABLE u (n BIGINT)")
    assert (
        sql(
            f"{words}\nINSERT INTO t VALUES (1, 'a;b'), (2, 'c');\n"
            "INSERT INTO u SELECT count(*) FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */;\nEND;"
        )
        == []
    )
    assert sql("SELECT * FROM t ORDER BY id") == [(1, "a;b"), (2, "c")]
    assert sql("SELECT * FROM u") == [(2,)]


def test_a_set_ends_at_its_first_error(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    with pytest.raises(Exception, match="nosuch"):
        sql("EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1); INSERT INTO nosuch VALUES (2); END")
    with pytest.raises(Exception, match="consists of INSERT statements"):
        sql("EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (3); DROP TABLE t; END")
    assert sql("SELECT * FROM t") == [(1,)]


def test_statements_of_other_lakehouses_point_to_those_of_paimon(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    with pytest.raises(Exception, match=r"Paimon has no VACUUM\..* CALL sys\.expire_snapshots\(table => 't'\)"):
        sql("VACUUM t")
    with pytest.raises(Exception, match=r"SELECT \* FROM t\$snapshots"):
        sql("DESCRIBE HISTORY t")
    sql("CREATE TABLE history (id INT COMMENT 'the key')")
    assert ("comment", "the key") in sql("DESCRIBE history id")
    with pytest.raises(Exception, match=r"has no procedure system\.rewrite_data_files.* Did you mean sys\.compact\?"):
        sql("CALL system.rewrite_data_files(table => 't')")
    with pytest.raises(Exception, match=r"Did you mean sys\.compact\?"):
        sql("CALL sys.compat(table => 't')")

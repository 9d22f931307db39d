"""Reads of one bucket alone, by the option ``scan.bucket``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
OPTION = "/*+ OPTIONS('scan.bucket' = '{}') */"
KINDS = {
    "keyed": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4')",
    "keyed, marked": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4', 'deletion-vectors.enabled' = 'true')",
    "keyed, partitioned": "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'p,id', 'bucket' = '3')",
    "orc": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4', 'file.format' = 'orc')",
    "append": "TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'id')",
    "without buckets": "",
    "dynamic": "TBLPROPERTIES ('primary-key' = 'id', 'dynamic-bucket.target-row-num' = '30')",
}


def filled(sql: Sql, kind: str) -> None:
    sql(f"CREATE TABLE t (id INT NOT NULL, v STRING, p STRING) {KINDS[kind]}")
    sql("INSERT INTO t SELECT cast(id AS INT), 'old', concat('p', id % 2) FROM range(0, 100, 1, 1)")
    sql("INSERT INTO t SELECT cast(id AS INT), 'ünïcode', concat('p', id % 2) FROM range(50, 120, 1, 1)")


@pytest.mark.parametrize("kind", KINDS)
def test_a_bucket_holds_the_rows_that_say_so(sql: Sql, kind: str) -> None:
    filled(sql, kind)
    placed = sql("SELECT __paimon_bucket, id, v FROM t ORDER BY 2, 3")
    buckets = sorted({bucket for bucket, _, _ in placed})
    assert buckets == ([0] if kind == "without buckets" else buckets)
    for bucket in (*buckets, 77):
        hint = OPTION.format(bucket)
        expected = [(i, v) for b, i, v in placed if b == bucket]
        assert sql(f"SELECT id, v FROM t {hint} ORDER BY 1, 2") == expected
        assert sql(f"SELECT count(*), sum(id) FROM t {hint}") == [
            (len(expected), sum(i for i, _ in expected) if expected else None)
        ]
        assert sql(f"SELECT id FROM t {hint} WHERE id = 60 ORDER BY 1") == [(i,) for i, _ in expected if i == 60]
        assert sql(f"SELECT p, count(*) FROM t {hint} GROUP BY p ORDER BY p") == [
            (p, n) for p in ("p0", "p1") if (n := sum(f"p{i % 2}" == p for i, _ in expected))
        ]
        assert len(sql(f"SELECT id FROM t {hint} LIMIT 5")) == min(5, len(expected))


def test_a_session_a_table_and_a_frame_may_ask_for_it(sql: Sql, spark: SparkSession) -> None:
    filled(sql, "keyed")
    whole: dict[int, int] = dict(sql("SELECT __paimon_bucket, count(*) FROM t GROUP BY 1"))
    sql("SET spark.paimon.scan.bucket = 2")
    assert sql("SELECT count(*) FROM t") == [(whole[2],)]
    sql("RESET spark.paimon.scan.bucket")
    assert spark.read.option("scan.bucket", "1").table("t").count() == whole[1]
    sql("ALTER TABLE t SET TBLPROPERTIES ('scan.bucket' = '3')")
    assert sql("SELECT count(*) FROM t") == [(whole[3],)]
    assert sql("SELECT count(*) FROM t /*+ OPTIONS('scan.bucket' = '0') */") == [(whole[0],)]
    assert sql("SELECT count(*) FROM t VERSION AS OF 1") == sql(
        "SELECT count(*) FROM t VERSION AS OF 1 WHERE __paimon_bucket = 3"
    )


def test_who_writes_sees_every_bucket(sql: Sql) -> None:
    filled(sql, "keyed")
    sql("ALTER TABLE t SET TBLPROPERTIES ('scan.bucket' = '3')")
    assert sql("UPDATE t SET v = 'new' WHERE id < 10") == [(10,)]
    assert sql("DELETE FROM t WHERE id >= 110") == [(10,)]
    assert (
        sql(
            "MERGE INTO t USING (SELECT explode(sequence(0, 200)) AS i) s ON t.id = s.i"
            " WHEN MATCHED THEN UPDATE SET p = 'm'"
        )[0][0]
        == 110
    )
    sql("INSERT INTO t VALUES (500, 'x', 'y')")
    sql("CALL sys.compact(table => 't')")
    sql("ALTER TABLE t UNSET TBLPROPERTIES ('scan.bucket')")
    assert sql("SELECT count(*), count_if(v = 'new'), count_if(p = 'm') FROM t") == [(111, 10, 110)]


@pytest.mark.smoke
def test_changes_are_those_of_the_bucket(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4',"
        " 'changelog-producer' = 'input')"
    )
    for number in range(3):
        sql(f"INSERT INTO t SELECT cast(id AS INT), 'v{number}' FROM range(0, 40, 1, 1)")
    in_bucket = [i for (i,) in sql(f"SELECT id FROM t {OPTION.format(1)} ORDER BY 1")]
    assert 0 < len(in_bucket) < 40
    for mode in ("delta", "changelog", "diff"):
        span = f"'incremental-between' = '1,2', 'incremental-between-scan-mode' = '{mode}'"
        hint = f"/*+ OPTIONS('scan.bucket' = '1', {span}) */"
        assert sql(f"SELECT id, v FROM t {hint} ORDER BY 1") == [(i, "v1") for i in in_bucket]
    log = sql(f"SELECT id, v FROM `t$audit_log` {OPTION.format(1)} ORDER BY 1")
    assert log == [(i, "v2") for i in in_bucket]


def test_a_stream_reads_the_bucket_alone(sql: Sql, spark: SparkSession) -> None:
    filled(sql, "keyed")
    expected = sql(f"SELECT id, v FROM t {OPTION.format(2)} ORDER BY 1")
    stream = spark.readStream.option("scan.bucket", "2").table("t")
    query = stream.writeStream.format("memory").queryName("one_bucket").trigger(availableNow=True).start()
    query.awaitTermination()
    assert sql("SELECT id, v FROM one_bucket ORDER BY 1") == expected
    spark.sql("DROP VIEW one_bucket")


def test_statistics_are_of_the_whole_table(sql: Sql) -> None:
    filled(sql, "keyed")
    sql("ALTER TABLE t SET TBLPROPERTIES ('scan.bucket' = '3')")
    with pytest.raises(Exception, match=r"Statistics are those of all buckets, and 'scan\.bucket' reads one"):
        sql("ANALYZE TABLE t COMPUTE STATISTICS")


@pytest.mark.parametrize("bucket", ["-1", "x", ""])
def test_what_is_no_bucket_is_refused(sql: Sql, bucket: str) -> None:
    filled(sql, "append")
    with pytest.raises(Exception, match=rf"The option 'scan\.bucket' cannot be '{bucket}'"):
        sql(f"SELECT * FROM t {OPTION.format(bucket)}")

"""A warehouse in an object store, through SQL: tables from their first row to their last file."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from pyspark.errors.exceptions.captured import IllegalArgumentException
from pyspark.sql import SparkSession

from paimon_sql.storage.file_io import file_io_of
from tests.hadoop_aws import hadoop_version
from tests.object_stores import BUCKET
from tests.spark.conftest import Sql

WAREHOUSE = f"s3://{BUCKET}/wäre house"


@pytest.fixture
def store(spark: SparkSession, s3: dict[str, str]) -> Iterator[Sql]:
    """Runs statements in a catalog whose warehouse is in the store."""
    options = ", ".join(f"'{k}' = '{v}'" for k, v in {"type": "paimon", "warehouse": WAREHOUSE, **s3}.items())
    spark.sql(f"CREATE CATALOG store WITH ({options})")
    spark.sql("USE store.default")
    yield lambda text: [tuple(row) for row in spark.sql(text).collect()]
    spark.sql("USE paimon.default")
    spark.sql("DROP CATALOG store")


def test_a_table_lives_in_a_store(store: Sql, s3: dict[str, str]) -> None:
    store(
        "CREATE TABLE t (k BIGINT, p STRING, v STRING, PRIMARY KEY (k, p) NOT ENFORCED) PARTITIONED BY (p)"
        " TBLPROPERTIES ('bucket'='2', 'changelog-producer'='lookup')"
    )
    rows = "SELECT /*+ REPARTITION(2) */ id k, concat('a/b ', id % 2) p, concat('v', id) v FROM range(60)"
    store(f"INSERT INTO t {rows}")
    store("INSERT INTO t VALUES (1, 'a/b 1', 'x'), (100, 'ö%', NULL)")
    store("UPDATE t SET v = 'u' WHERE k % 10 = 0")
    store("DELETE FROM t WHERE k % 10 = 5")
    assert store("SELECT count(*), count(v), sum(k) FROM t") == [(55, 55, sum(range(60)) - 180 + 100)]
    assert store("SELECT * FROM t WHERE k = 100 AND p = 'ö%'") == [(100, "ö%", "u")]
    assert store("SELECT rowkind, v FROM t$audit_log WHERE k = 1") == [("+I", "x")]
    assert store("SELECT count(*) FROM t VERSION AS OF 1") == [(60,)]
    before = store("SELECT * FROM t ORDER BY k")
    store("CALL sys.compact(table => 't', compact_strategy => 'full')")
    store("CREATE TABLE c TBLPROPERTIES ('bucket'='-1') AS SELECT * FROM t")
    store("ALTER TABLE c RENAME TO d")
    store("CALL sys.create_tag(table => 'd', tag => 'kept')")
    assert store("SELECT * FROM d ORDER BY k") == store("SELECT * FROM t ORDER BY k") == before
    store("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    assert store("SELECT count(*) FROM t$snapshots") == [(1,)]
    io = file_io_of(WAREHOUSE, s3)
    io.write_bytes(f"{WAREHOUSE}/default.db/t/p=x/bucket-0/data-0f5d9a04-1111-4111-8111-111111111111-0.parquet", b"?")
    time.sleep(1.1)
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    (removed,) = store(f"CALL sys.remove_orphan_files(table => 't', older_than => '{now}')")
    assert "1" in str(removed[0])
    assert store("SELECT * FROM t ORDER BY k") == before
    assert store("SHOW TABLES") == [("default", "d", False), ("default", "t", False)]
    shown = str(store("EXPLAIN EXTENDED SELECT * FROM d")) + str(store("DESCRIBE EXTENDED t"))
    assert s3["s3.secret-key"] not in shown
    store("DROP TABLE t")
    store("DROP TABLE d")
    assert [s.name for s in io.list(f"{WAREHOUSE}/default.db")] == []


@pytest.mark.smoke
def test_plain_files_in_a_store_need_a_jar_of_hadoops(store: Sql, s3: dict[str, str]) -> None:
    jar = f"Start Spark with 'spark.jars.packages' = 'org.apache.hadoop:hadoop-aws:{hadoop_version()}'"
    store("CREATE TABLE t (k BIGINT)")
    store("CREATE TABLE f (k BIGINT) USING csv")
    for statement, told in (
        ("INSERT INTO f VALUES (1)", f"store.default.f: Spark has no file system for {WAREHOUSE}/default.db/f."),
        ("SELECT * FROM f", f"store.default.f: Spark has no file system for {WAREHOUSE}/default.db/f."),
        ("CREATE TABLE g USING csv AS SELECT 1 AS k", "store.default.g: Spark has no file system for "),
        (f"COPY INTO t FROM 's3://{BUCKET}/x' FILE_FORMAT = (TYPE = CSV)", f"no file system for s3://{BUCKET}/x."),
        (f"COPY INTO 's3a://{BUCKET}/x' FROM t FILE_FORMAT = (TYPE = CSV)", f"no file system for s3a://{BUCKET}/x."),
    ):
        with pytest.raises(IllegalArgumentException) as refused:
            store(statement)
        assert told in str(refused.value)
        assert jar in str(refused.value)
    assert store("SHOW TABLES") == [("default", "f", False), ("default", "t", False)]
    store("DROP TABLE t")
    store("DROP TABLE f")
    io = file_io_of(WAREHOUSE, s3)
    assert [s.path for s in io.walk(f"{WAREHOUSE}/default.db")] == []
    assert not io.exists(f"s3://{BUCKET}/x")

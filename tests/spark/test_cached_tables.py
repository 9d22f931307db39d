"""Tables in Spark's cache: used as Parquet's are, never for another state or stale behind own writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.spark.tables.base import truncate_table
from paimon_sql.storage.expressions.predicates import Comparison

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def _nothing_left(spark: SparkSession) -> Iterator[None]:
    yield
    spark.catalog.clearCache()


def from_cache(spark: SparkSession, query: str) -> bool:
    """Whether a query is answered from the cache."""
    return "InMemoryRelation" in spark.sql(query)._jdf.queryExecution().optimizedPlan().toString()


@pytest.fixture(params=["append", "keyed"])
def t(request: pytest.FixtureRequest, sql: Sql) -> str:
    """A table of either kind with two partitions and three rows."""
    key = {"append": "", "keyed": ", PRIMARY KEY (p, a) NOT ENFORCED"}[request.param]
    options = "TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'a')"
    sql(f"CREATE TABLE t (a INT NOT NULL, b STRING, p INT NOT NULL{key}) PARTITIONED BY (p) {options}")
    sql("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1), (3, 'z', 2)")
    return "t"


def test_a_cached_table_is_used_for_all_that_reads_it(spark: SparkSession, sql: Sql, t: str) -> None:
    sql("CACHE TABLE t")
    assert spark.catalog.isCached("t")
    for query in ("SELECT * FROM t", "SELECT b FROM t WHERE a > 1", "SELECT count(*) FROM t x JOIN t y ON x.a = y.a"):
        assert from_cache(spark, query)
    assert sql("SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]
    sql("UNCACHE TABLE t")
    assert not spark.catalog.isCached("t") and not from_cache(spark, "SELECT * FROM t")


def test_a_cached_query_is_used_by_an_equal_one(spark: SparkSession, sql: Sql, t: str) -> None:
    frame = spark.sql("SELECT b, count(*) n FROM t WHERE a > 1 GROUP BY b").persist()
    assert frame.count() == 2
    assert from_cache(spark, "SELECT b, count(*) n FROM t WHERE a > 1 GROUP BY b")
    assert not from_cache(spark, "SELECT b, count(*) n FROM t WHERE a > 2 GROUP BY b")
    sql("INSERT INTO t VALUES (4, 'w', 2)")
    assert frame.count() == 3 and from_cache(spark, "SELECT b, count(*) n FROM t WHERE a > 1 GROUP BY b")
    frame.unpersist()
    assert not from_cache(spark, "SELECT b, count(*) n FROM t WHERE a > 1 GROUP BY b")


CHANGES = {
    "insert": "INSERT INTO t VALUES (4, 'w', 2)",
    "insert by name": "INSERT INTO t BY NAME SELECT 2 p, 'w' b, 4 a",
    "overwrite": "INSERT OVERWRITE t VALUES (4, 'w', 2)",
    "static overwrite": "INSERT OVERWRITE t PARTITION (p = 1) VALUES (4, 'w')",
    "update": "UPDATE t SET b = 'u' WHERE a = 1",
    "delete": "DELETE FROM t WHERE a = 1",
    "delete a partition": "DELETE FROM t WHERE p = 1",
    "merge": "MERGE INTO t USING (SELECT 1 a, 'm' b, 1 p) s ON t.a = s.a AND t.p = s.p"
    " WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT *",
    "truncate": "TRUNCATE TABLE t",
    "drop partition": "ALTER TABLE t DROP PARTITION (p = 1)",
    "truncate partition": "TRUNCATE TABLE t PARTITION (p = 2)",
    "add column": "ALTER TABLE t ADD COLUMN c INT",
    "rename column": "ALTER TABLE t RENAME COLUMN b TO d",
    "drop column": "ALTER TABLE t DROP COLUMN b",
    "replace": "REPLACE TABLE t (z STRING, p INT NOT NULL) PARTITIONED BY (p)",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_session_sees_what_it_has_changed_itself(spark: SparkSession, sql: Sql, t: str, change: str) -> None:
    sql("CACHE TABLE t")
    sql("CACHE TABLE `t$files`")
    assert len(sql("SELECT * FROM t")) == 3 and sql("SELECT count(*) FROM `t$files`")
    sql(CHANGES[change])
    seen, files = spark.sql("SELECT * FROM t"), sql("SELECT file_path FROM `t$files`")
    rows, columns = sorted(map(tuple, seen.collect())), seen.columns
    spark.catalog.clearCache()
    fresh = spark.sql("SELECT * FROM t")
    assert (rows, columns) == (sorted(map(tuple, fresh.collect())), fresh.columns)
    assert sorted(files) == sorted(sql("SELECT file_path FROM `t$files`"))


def test_a_changed_table_is_cached_again(spark: SparkSession, sql: Sql, t: str) -> None:
    sql("CACHE TABLE t")
    for statement in (
        "INSERT INTO t VALUES (4, 'w', 2)",
        "UPDATE t SET b = 'u' WHERE a = 1",
        "DELETE FROM t WHERE a = 2",
    ):
        sql(statement)
        assert from_cache(spark, "SELECT * FROM t")
    assert sorted(sql("SELECT * FROM t")) == [(1, "u", 1), (3, "z", 2), (4, "w", 2)]


def test_a_number_that_a_rollback_freed_is_another_snapshot(spark: SparkSession, sql: Sql, t: str) -> None:
    sql("INSERT INTO t VALUES (4, 'w', 2)")
    sql("CACHE TABLE t")
    assert len(sql("SELECT * FROM t")) == 4
    database = spark.catalog.currentDatabase()
    sql(f"CALL sys.rollback(`table` => '{database}.t', version => '1')")
    assert len(sql("SELECT * FROM t")) == 3
    sql("DELETE FROM t WHERE a = 1")
    assert [a for (a,) in sql("SELECT a FROM t ORDER BY a")] == [2, 3]


def test_another_state_is_never_taken_from_the_cache(spark: SparkSession, sql: Sql, t: str) -> None:
    database = spark.catalog.currentDatabase()
    sql(f"CALL sys.create_tag('{database}.t', 'old', 1)")
    sql(f"CALL sys.create_branch('{database}.t', 'b', 'old')")
    sql("INSERT INTO t VALUES (4, 'w', 2)")
    sql("CACHE TABLE t")
    assert len(sql("SELECT * FROM t")) == 4
    old = (
        "SELECT * FROM t VERSION AS OF 1",
        "SELECT * FROM t VERSION AS OF 'old'",
        "SELECT * FROM `t$branch_b`",
        "SELECT * FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */",
        "SELECT * FROM t WITH ('scan.tag-name' = 'old')",
    )
    for query in old:
        assert len(sql(query)) == 3, query
        assert not from_cache(spark, query)
    assert not from_cache(spark, "SELECT * FROM `t$files`") and not from_cache(spark, "SELECT * FROM `t$ro`")
    spark.conf.set("spark.paimon.scan.snapshot-id", "1")
    try:
        # The option of the session comes behind the cached name, as it does for the catalogs of others.
        spark.catalog.uncacheTable("t")
        assert len(sql("SELECT * FROM t")) == 3
        sql("CACHE TABLE t")
        assert len(sql("SELECT * FROM t")) == 3
    finally:
        spark.conf.unset("spark.paimon.scan.snapshot-id")


def test_a_cached_state_of_before_is_not_taken_for_the_newest(spark: SparkSession, sql: Sql, t: str) -> None:
    frame = spark.sql("SELECT * FROM t VERSION AS OF 1").cache()
    sql("INSERT INTO t VALUES (4, 'w', 2)")
    assert frame.count() == 3 and len(sql("SELECT * FROM t")) == 4
    assert from_cache(spark, "SELECT * FROM t VERSION AS OF 1")
    assert not from_cache(spark, "SELECT * FROM t")


def test_what_other_processes_wrote_is_seen_after_a_refresh(spark: SparkSession, sql: Sql, t: str) -> None:
    frame = spark.sql("SELECT a FROM t WHERE a > 0").cache()
    assert frame.count() == 3
    database = spark.catalog.currentDatabase()
    sql("CACHE TABLE t")
    assert len(sql("SELECT * FROM t")) == 3
    _delete_elsewhere(spark, database)
    # A cached query is not taken for one that sees more; a cached table is as it was cached, until it is refreshed.
    sql("REFRESH TABLE t")
    assert len(sql("SELECT * FROM t")) == 2
    assert from_cache(spark, "SELECT * FROM t")


def test_a_cached_query_is_not_taken_for_one_that_sees_more(spark: SparkSession, sql: Sql, t: str) -> None:
    frame = spark.sql("SELECT a FROM t WHERE a > 0").cache()
    assert frame.count() == 3
    _delete_elsewhere(spark, spark.catalog.currentDatabase())
    assert len(sql("SELECT a FROM t WHERE a > 0")) == 2
    assert frame.count() == 3


def _delete_elsewhere(spark: SparkSession, database: str) -> None:
    """Take partition 2 away without a word to Spark, as another process does."""
    warehouse = spark.conf.get("spark.sql.catalog.paimon.warehouse")
    table = FileSystemCatalog("elsewhere", {"warehouse": warehouse}).table(Identifier(database, "t"))
    truncate_table(table, Comparison("p", "=", pa.scalar(2, pa.int32())))


def test_a_branch_that_is_written_renews_what_reads_it(spark: SparkSession, sql: Sql, t: str) -> None:
    database = spark.catalog.currentDatabase()
    sql(f"CALL sys.create_branch('{database}.t', 'b')")
    sql("INSERT INTO `t$branch_b` SELECT * FROM t")
    sql("ALTER TABLE t SET TBLPROPERTIES ('scan.fallback-branch' = 'b')")
    sql("CACHE TABLE t")
    sql("CACHE TABLE `t$branch_b`")
    assert len(sql("SELECT * FROM t")) == 3 and len(sql("SELECT * FROM `t$branch_b`")) == 3
    sql("INSERT INTO `t$branch_b` VALUES (7, 'v', 7)")
    assert len(sql("SELECT * FROM t")) == 4 and len(sql("SELECT * FROM `t$branch_b`")) == 4


def test_a_stream_renews_what_is_cached(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE source (a INT)")
    sql("CREATE TABLE sink (a INT)")
    sql("INSERT INTO source VALUES (1), (2)")
    sql("CACHE TABLE sink")
    assert sql("SELECT * FROM sink") == []
    database = spark.catalog.currentDatabase()
    run = spark.readStream.table(f"paimon.{database}.source").writeStream
    run = run.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    run.toTable(f"paimon.{database}.sink").awaitTermination()
    assert sorted(sql("SELECT * FROM sink")) == [(1,), (2,)]


def test_a_materialized_table_is_refreshed_from_its_sources_and_not_from_the_cache(
    spark: SparkSession, sql: Sql, t: str
) -> None:
    sql("CREATE MATERIALIZED TABLE m AS SELECT a, b FROM t")
    sql("CACHE TABLE t")
    assert len(sql("SELECT * FROM t")) == 3
    _delete_elsewhere(spark, spark.catalog.currentDatabase())
    sql("ALTER MATERIALIZED TABLE m REFRESH")
    assert len(sql("SELECT * FROM m")) == 2
    sql("INSERT INTO t VALUES (9, 'n', 9)")
    assert len(sql("SELECT * FROM t")) == 3


def test_another_session_shares_the_cache_and_its_changes_are_seen(spark: SparkSession, sql: Sql, t: str) -> None:
    other = spark.newSession()
    name = f"paimon.{spark.catalog.currentDatabase()}.t"
    sql("CACHE TABLE t")
    assert from_cache(other, f"SELECT * FROM {name}")
    other.sql(f"DELETE FROM {name} WHERE a = 1")
    assert sorted(a for (a,) in sql("SELECT a FROM t")) == [2, 3]


def test_a_dropped_table_is_forgotten(spark: SparkSession, sql: Sql, t: str) -> None:
    sql("CACHE TABLE t")
    sql("CACHE TABLE `t$snapshots`")
    sql("DROP TABLE t")
    sql("CREATE TABLE t (z INT)")
    assert sql("SELECT * FROM t") == [] and sql("SELECT * FROM `t$snapshots`") == []


def test_a_renamed_table_is_read_by_its_new_name(spark: SparkSession, sql: Sql, t: str) -> None:
    sql("CACHE TABLE t")
    sql("ALTER TABLE t RENAME TO u")
    sql("INSERT INTO u VALUES (4, 'w', 2)")
    sql("CREATE TABLE t (z INT)")
    assert len(sql("SELECT * FROM u")) == 4 and sql("SELECT * FROM t") == []


def test_tables_by_path_are_cached(spark: SparkSession, sql: Sql, t: str) -> None:
    warehouse, database = spark.conf.get("spark.sql.catalog.paimon.warehouse"), spark.catalog.currentDatabase()
    path = f"{warehouse}/{database}.db/t"
    frame = spark.read.format("paimon").load(path).cache()
    assert frame.count() == 3
    assert "InMemoryRelation" in spark.read.format("paimon").load(path)._jdf.queryExecution().optimizedPlan().toString()
    sql("DELETE FROM t WHERE a = 1")
    assert spark.read.format("paimon").load(path).count() == 2


def test_grouping_by_a_subquery_is_analysed(sql: Sql) -> None:
    sql("CREATE TABLE h (a INT, b INT)")
    sql("INSERT INTO h VALUES (1, 2), (2, 3)")
    query = "SELECT a IN (SELECT b FROM h), count(*) FROM h GROUP BY a IN (SELECT b FROM h)"
    assert sorted(sql(query)) == [(False, 1), (True, 1)]

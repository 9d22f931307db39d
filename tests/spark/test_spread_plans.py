"""Plans that executors make: the same answers, jobs that bear their name and end with their statement."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.spark.execution import executor
from paimon_sql.storage.metadata import manifests
from paimon_sql.storage.metadata.manifests import ManifestCache
from paimon_sql.storage.table import distributed_manifests
from paimon_sql.storage.table.distributed_manifests import ManifestTask
from tests.spark.conftest import Sql


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> ManifestCache:
    """A cache of the test's own."""
    own = ManifestCache()
    monkeypatch.setattr(manifests, "CACHE", own)
    monkeypatch.setattr(distributed_manifests, "CACHE", own)
    return own


@pytest.fixture
def spread(cache: ManifestCache, monkeypatch: pytest.MonkeyPatch) -> ManifestCache:
    """No plan is so small that the driver makes it by itself, and nothing stays in its cache."""
    monkeypatch.setattr(distributed_manifests, "MANY_BYTES", 1)
    monkeypatch.setattr(executor, "FEW_BYTES", -1)
    cache.capacity = 0
    return cache


def jobs(spark: SparkSession, database: str, table: str) -> int:
    """How many jobs planned something of a table."""
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"plan of paimon.{database}.{table}"))


_CONDITIONS = ("k > 12 AND n < 40", "v = 'beside' OR n IS NULL", "p = 1 AND k IN (4, 9)", "q = 1")
_ROWS = "SELECT id, concat('v', id), nullif(id * 3, 9), CAST(id % 2 AS INT) FROM range({}, {})"
_KINDS = {
    "plain": "'deletion-vectors.enabled'='true', 'fields.n.stats-mode'='none'",
    "keyed": "'primary-key'='p,k', 'bucket'='2'",
    "evolving": "'row-tracking.enabled'='true', 'data-evolution.enabled'='true', 'deletion-vectors.enabled'='true'",
}


@pytest.mark.parametrize("kind", _KINDS)
def test_answers_are_those_of_the_drivers_plans(
    spark: SparkSession, sql: Sql, spread: ManifestCache, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    database = str(spark.catalog.currentDatabase())
    sql(f"CREATE TABLE t (k BIGINT, v STRING, n BIGINT, p INT) PARTITIONED BY (p) TBLPROPERTIES ({_KINDS[kind]})")
    for first in (0, 10):
        sql(f"INSERT INTO t {_ROWS.format(first, first + 6)}")
    sql("ALTER TABLE t ADD COLUMN q INT")
    sql("INSERT INTO t (k, v, n, p, q) VALUES (4, 'again', 1, 0, 1), (9, 'new', 2, 1, NULL)")
    sql("UPDATE t SET v = 'beside' WHERE k IN (3, 12)")
    sql("DELETE FROM t WHERE k IN (1, 10, 11)")
    sql("MERGE INTO t USING (SELECT 5L k, 1 p) s ON t.k = s.k AND t.p = s.p WHEN MATCHED THEN UPDATE SET n = -5")
    queries = [f"SELECT k, v, n, p, q FROM t WHERE {asked}" for asked in ("true", *_CONDITIONS)]
    queries += ["SELECT p, count(*), sum(n) FROM t GROUP BY p", "SELECT partition, record_count FROM `t$files`"]
    made = jobs(spark, database, "t")
    assert made > 0
    found = [sorted(map(repr, sql(query))) for query in queries]
    assert jobs(spark, database, "t") >= made + len(queries)
    monkeypatch.undo()
    assert found == [sorted(map(repr, sql(query))) for query in queries]
    assert len(found[0]) == (10 if kind == "keyed" else 11)


def test_a_whole_plan_that_has_room_stays(spark: SparkSession, sql: Sql, spread: ManifestCache) -> None:
    database = str(spark.catalog.currentDatabase())
    sql("CREATE TABLE t (k BIGINT)")
    sql("INSERT INTO t VALUES (1), (2)")
    spread.capacity = 1 << 29
    for _ in range(2):
        assert sql("SELECT * FROM t") == [(1,), (2,)]
        assert jobs(spark, database, "t") == 1
    assert sql("SELECT * FROM t WHERE k = 2") == [(2,)]
    assert jobs(spark, database, "t") == 1


def test_a_small_plan_starts_no_job(spark: SparkSession, sql: Sql, cache: ManifestCache) -> None:
    database = str(spark.catalog.currentDatabase())
    sql("CREATE TABLE t (k BIGINT)")
    sql("INSERT INTO t VALUES (1), (2)")
    cache.__init__()  # type: ignore[misc]
    assert sql("SELECT * FROM t WHERE k = 2") == [(2,)]
    assert jobs(spark, database, "t") == 0


def test_a_missing_manifest_is_named(spark: SparkSession, sql: Sql, spread: ManifestCache) -> None:
    sql("CREATE TABLE t (k BIGINT)")
    sql("INSERT INTO t VALUES (1)")
    ((folder,),) = [(str(row[1]),) for row in sql("DESCRIBE EXTENDED t") if row[0] == "Location"]
    (manifest,) = Path(folder.removeprefix("file:"), "manifest").glob("manifest-[0-9a-f]*-0")
    manifest.unlink()
    with pytest.raises(PySparkException, match=manifest.name) as error:
        sql("SELECT * FROM t")
    assert "Traceback" not in str(error.value)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Executors that never answer."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(distributed_manifests, "run_manifest_task", sleep)
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def sleep(task: ManifestTask) -> None:
    time.sleep(600)


def test_a_cancelled_statement_takes_its_plan_along(
    spark: SparkSession, sql: Sql, spread: ManifestCache, endless: None
) -> None:
    sql("CREATE TABLE t (k BIGINT)")
    sql("INSERT INTO t VALUES (1)")
    context, told = spark.sparkContext, []

    def cancel() -> None:
        tracker = context.statusTracker()
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        told.extend(tracker.getJobIdsForGroup("mine"))
        context.cancelJobGroup("mine")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    started = time.monotonic()
    context.setJobGroup("mine", "what I ask", interruptOnCancel=True)
    try:
        with pytest.raises(Py4JJavaError, match=r"RuntimeException: .*[Jj]ob .*cancelled"):
            sql("SELECT * FROM t")
    finally:
        canceller.join()
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(key, None)
    assert len(told) == 1
    assert time.monotonic() - started < 60

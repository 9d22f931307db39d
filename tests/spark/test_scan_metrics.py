"""What planning left out is seen in EXPLAIN and in the metrics of Spark's UI."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.session.bridge import Bridge
from tests.spark.conftest import Sql

TABLES = {
    "native": "PARTITIONED BY (p)",
    "python": "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '1', 'write-only' = 'true')",
}
PLANNED = "1 of 3 files (2 skipped), 1 of 3 manifests (2 skipped)"


@pytest.fixture(params=TABLES)
def query(request: pytest.FixtureRequest, sql: Sql) -> str:
    """A query of one of three partitions, each of a snapshot of its own."""
    sql(f"CREATE TABLE m (k INT NOT NULL, p INT NOT NULL) {TABLES[request.param]}")
    for p in range(3):
        sql(f"INSERT INTO m VALUES ({p}, {p})")
    return "SELECT k FROM m WHERE p = 1"


@pytest.mark.parametrize("mode", ["", "FORMATTED", "EXTENDED", "COST"])
def test_an_explanation_says_what_is_read(sql: Sql, query: str, mode: str) -> None:
    ((text,),) = sql(f"EXPLAIN {mode} {query}")
    assert "files 1 of 3, manifests 1 of 3" in str(text)


def test_the_ui_shows_what_was_skipped(spark: SparkSession, sql: Sql, query: str) -> None:
    assert sql(query) == [(1,)]
    (value,) = _metrics(spark, PLANNED)
    assert " B (" in value and "\n0.0 B" not in value


def _metrics(spark: SparkSession, title: str) -> list[Any]:
    """The values of the metrics whose names hold the title, in the newest execution of SQL."""
    bridge = Bridge.of(spark.sparkContext).jvm
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    executions = bridge.items(store.executionsList())
    newest = max(executions, key=lambda e: e.executionId())
    values = store.executionMetrics(newest.executionId())
    found = [m for m in bridge.items(newest.metrics()) if title in m.name()]
    return [values.get(m.accumulatorId()).get() for m in found]

"""Sessions: several warehouses, sessions made from others, catalogs by settings, DataFrames."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.errors import InvalidInputError

pytestmark = pytest.mark.smoke


def rows(session: SparkSession, text: str) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    return [tuple(row) for row in session.sql(text).collect()]


def test_a_second_connect_has_its_own_warehouse(spark: SparkSession, tmp_path: Path) -> None:
    first, second = paimon_sql.connect(tmp_path / "a"), paimon_sql.connect(tmp_path / "b")
    first.sql("CREATE TABLE t AS SELECT 1 AS x")
    second.sql("CREATE TABLE t AS SELECT 2 AS x")
    assert rows(first, "SELECT * FROM t") == [(1,)]
    assert rows(second, "SELECT * FROM t") == [(2,)]


def test_a_session_made_from_another_has_its_catalogs(spark: SparkSession, tmp_path: Path) -> None:
    parent = paimon_sql.connect(tmp_path)
    parent.sql("CREATE TABLE t AS SELECT 7 AS x")
    child = parent.newSession()
    assert rows(child, "SELECT x, current_catalog() FROM t") == [(7, "paimon")]


def test_a_new_session_has_its_catalogs_whoever_asks_first(spark: SparkSession, tmp_path: Path) -> None:
    parent = paimon_sql.connect(tmp_path)
    parent.sql("CREATE TABLE t AS SELECT 7 AS x")
    assert parent.newSession().table("t").collect() == [(7,)]
    assert parent.newSession().newSession().read.table("t").collect() == [(7,)]
    assert parent.newSession().catalog.currentCatalog() == "paimon"
    assert parent.newSession().catalog.currentDatabase() == "default"
    assert [c.name for c in parent.newSession().catalog.listCatalogs()] == ["paimon", "spark_catalog"]
    assert [d.name for d in parent.newSession().catalog.listDatabases()] == ["default"]
    assert parent.newSession().catalog.tableExists("t")
    assert parent.newSession().catalog.getTable("t").catalog == "paimon"
    assert [c.name for c in parent.newSession().catalog.listColumns("t")] == ["x"]
    parent.newSession().range(1).selectExpr("CAST(id AS INT) AS x").writeTo("t").append()
    assert parent.table("t").count() == 2


def test_settings_made_on_a_new_session_are_its_own(spark: SparkSession, tmp_path: Path) -> None:
    parent = paimon_sql.connect(tmp_path / "a")
    parent.sql("CREATE TABLE t AS SELECT 7 AS x")
    child = parent.newSession()
    child.conf.set("spark.sql.catalog.paimon.warehouse", str(tmp_path / "b"))
    assert child.catalog.tableExists("t") is False
    assert (tmp_path / "b" / "default.db").is_dir()
    assert parent.newSession().catalog.tableExists("t") is True


def test_threads_may_ask_a_new_session_first_at_once(spark: SparkSession, tmp_path: Path) -> None:
    parent = paimon_sql.connect(tmp_path)
    parent.sql("CREATE TABLE t AS SELECT 7 AS x")
    shared = parent.newSession()
    asked = [lambda: shared.table("t").count(), lambda: parent.newSession().sql("SELECT * FROM t").count()] * 4
    with ThreadPoolExecutor(8) as threads:
        assert [answer.result(60) for answer in [threads.submit(ask) for ask in asked]] == [1] * 8


def test_install_equips_a_session_with_several_catalogs(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    lake = {"warehouse": str(tmp_path / "lake")}
    pond = {"warehouse": str(tmp_path / "pond")}
    assert paimon_sql.install(session, catalogs={"lake": lake, "pond": pond}) is session
    session.sql("CREATE TABLE lake.default.t AS SELECT 1 AS k, 'a' AS v")
    session.sql("CREATE TABLE pond.default.u AS SELECT 1 AS k, 'b' AS w")
    joined = "SELECT v, w FROM lake.default.t JOIN pond.default.u USING (k)"
    assert rows(session, joined) == [("a", "b")]


def test_a_setting_of_the_start_cannot_be_given_later(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"spark\.driver\.memory"):
        paimon_sql.connect(tmp_path, **{"spark.driver.memory": "99g"})


def test_a_setting_that_is_none_of_sparks_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'master' is no setting of Spark's.*spark\.master"):
        paimon_sql.connect(tmp_path, master="local[2]")


def test_dataframes_write_and_read_tables(spark: SparkSession, tmp_path: Path) -> None:
    session = paimon_sql.connect(tmp_path)
    frame = session.range(4).selectExpr("CAST(id AS INT) AS k", "'x' AS v")
    frame.writeTo("t").using("paimon").tableProperty("primary-key", "k").tableProperty("bucket", "2").create()
    frame.selectExpr("k + 2 AS k", "'y' AS v").writeTo("t").append()
    assert rows(session, "SELECT * FROM t ORDER BY k") == [
        (0, "x"), (1, "x"), (2, "y"), (3, "y"), (4, "y"), (5, "y"),
    ]  # fmt: skip
    frame.write.mode("append").saveAsTable("t")
    frame.write.format("paimon").saveAsTable("u")
    frame.write.insertInto("u")
    assert session.table("t").where("v = 'x'").count() == 4
    assert session.table("u").count() == 8
    frame.where("k = 1").write.format("paimon").mode("overwrite").saveAsTable("u")
    assert session.table("u").collect()[0][0] == 1
    assert session.table("t$snapshots").count() == 3
    assert session.read.option("scan.snapshot-id", "1").table("t").count() == 4
    assert session.read.format("paimon").load(str(tmp_path / "default.db" / "t")).count() == 6


def test_a_temporary_view_shows_the_newest_rows(spark: SparkSession, tmp_path: Path) -> None:
    session = paimon_sql.connect(tmp_path)
    session.sql("CREATE TABLE t AS SELECT 1 AS x")
    session.table("t").createOrReplaceTempView("v")
    session.sql("INSERT INTO t VALUES (2)")
    assert rows(session, "SELECT count(*) FROM v") == [(2,)]


def test_explain_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    session = paimon_sql.connect(tmp_path)
    session.sql("CREATE TABLE t (x INT)")
    session.sql("EXPLAIN INSERT INTO t VALUES (1)").collect()
    session.sql("EXPLAIN CALL sys.compact('t')").collect()
    assert rows(session, "SELECT count(*) FROM t$snapshots") == [(0,)]

"""Aggregates, whole keys, ``saveAsTable``: alike where ``spark_catalog`` is replaced, in views, tags and branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import paimon_sql
from tests.spark.conftest import Sql

SOURCES = (
    "t",
    "t VERSION AS OF 'kept'",
    "t VERSION AS OF 1",
    "t /*+ OPTIONS('scan.tag-name' = 'kept') */",
    "t /*+ OPTIONS('incremental-between' = '1,2') */",
    "`t$branch_side`",
    "`t$audit_log`",
    "stored",
    "stored_tag",
    "stored_branch",
    "passing",
    "(SELECT * FROM stored)",
)
"""A table, older states of it, a branch, and views of each."""
AGGREGATES = ("count(*)", "max(a), min(p)", "sum(a), count(DISTINCT p)")


@pytest.fixture(scope="module", params=["paimon", "spark_catalog"])
def session(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A session with a database of its own as the current one, in each catalog."""
    catalog, session = request.param, spark.newSession()
    folder = tmp_path_factory.mktemp("both")
    if catalog == "spark_catalog":
        session = paimon_sql.install(session, {catalog: {"warehouse": str(folder)}})
        session.conf.set("spark.sql.sources.default", "paimon")
        session.sql(f"CREATE DATABASE spark_catalog.both LOCATION '{folder}/both.db'")
    else:
        session.sql("CREATE DATABASE paimon.both")
    session.sql(f"USE {catalog}.both")
    yield session
    session.sql(f"USE {catalog}.default")
    session.sql(f"DROP DATABASE {catalog}.both CASCADE")


@pytest.fixture
def sql(session: SparkSession) -> Iterator[Sql]:
    """Runs statements in that database, whose tables and views are dropped after the test."""
    yield lambda text: [tuple(row) for row in session.sql(text).collect()]
    for row in session.sql("SHOW VIEWS").collect():
        session.sql(f"DROP VIEW {row.viewName}")
    for row in session.sql("SHOW TABLES").collect():
        session.sql(f"DROP TABLE {row.tableName}")


@pytest.fixture(params=["", "'primary-key' = 'a,p', 'bucket' = '1'"])
def sources(request: pytest.FixtureRequest, sql: Sql) -> tuple[str, ...]:
    """A table of either sort with what can be read of it."""
    options = f" TBLPROPERTIES ({request.param})" if request.param else ""
    sql(f"CREATE TABLE t (a INT, b INT, p STRING) PARTITIONED BY (p){options}")
    sql("INSERT INTO t VALUES (1, 5, 'x'), (2, NULL, 'y')")
    sql("CALL sys.create_tag(table => 'both.t', tag => 'kept')")
    sql("CALL sys.create_branch(table => 'both.t', branch => 'side', tag => 'kept')")
    sql("INSERT INTO t VALUES (3, 7, 'x'), (4, 8, 'z')")
    sql("INSERT INTO `t$branch_side` VALUES (5, 9, 'x')")
    sql("CREATE VIEW stored AS SELECT * FROM t")
    sql("CREATE VIEW stored_tag AS SELECT * FROM t VERSION AS OF 'kept'")
    sql("CREATE VIEW stored_branch AS SELECT * FROM `t$branch_side`")
    sql("CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT a, b, p FROM t")
    return SOURCES


def definition(sql: Sql, table: str) -> str:
    """The statement that would make a table, on one line."""
    ((text,),) = sql(f"SHOW CREATE TABLE {table}")
    return " ".join(str(text).split())


def test_aggregates_are_those_of_all_rows(session: SparkSession, sql: Sql, sources: tuple[str, ...]) -> None:
    session.conf.set("spark.paimon.read.push-down.enabled", "false")
    try:
        rows = [sql(f"SELECT a, b, p FROM {source}") for source in sources]
    finally:
        session.conf.unset("spark.paimon.read.push-down.enabled")
    assert [len(found) for found in rows] == [4, 2, 2, 2, 2, 3, 4, 4, 2, 3, 4, 4]
    query = " UNION ALL ".join(
        f"SELECT {number} n, count(*), max(a), min(b), count(b), max(p) FROM {source}{condition}"
        for number, source in enumerate(sources)
        for condition in ("", " WHERE p = 'x'")
    )
    assert Counter(sql(query)) == Counter(
        (number, *_aggregated([row for row in found if partition in (None, row[2])]))
        for number, found in enumerate(rows)
        for partition in (None, "x")
    )


def _aggregated(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    known = [b for _, b, _ in rows if b is not None]
    a, p = (max((row[i] for row in rows), default=None) for i in (0, 2))
    return len(rows), a, min(known, default=None), len(known), p


def test_a_global_aggregate_gives_a_row(sql: Sql, sources: tuple[str, ...]) -> None:
    union = " UNION ALL ".join(
        f"SELECT (SELECT count(*) FROM ({one})) n, EXISTS ({one}) e"
        for source in sources
        for one in (f"SELECT {aggregates} FROM {source} WHERE p = 'none'" for aggregates in AGGREGATES)
    )
    assert set(sql(union)) == {(1, True)}


def test_rows_are_told_apart_by_the_whole_key(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k INT, p STRING, q STRING, n INT) PARTITIONED BY (p, q)"
        " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '-1')"
    )
    sql("INSERT INTO t VALUES (1, 'a', 'x', 1), (1, 'b', 'x', 2)")
    sql("CREATE VIEW seen AS SELECT k, p, q, n FROM t")
    sql("INSERT INTO t VALUES (1, 'a', 'y', 3)")
    for table in ("t", "seen"):
        assert sorted(sql(f"SELECT * FROM {table}")) == [(1, "a", "y", 3), (1, "b", "x", 2)]
        assert sorted(sql(f"SELECT p, q, count(*) FROM {table} GROUP BY p, q")) == [("a", "y", 1), ("b", "x", 1)]


def test_save_as_table_keeps_the_definition_and_its_readers(session: SparkSession, sql: Sql) -> None:
    sql(
        "CREATE TABLE t (a INT NOT NULL, b STRING DEFAULT 'none', p STRING NOT NULL) USING paimon PARTITIONED BY (p)"
        " COMMENT 'kept' TBLPROPERTIES ('primary-key' = 'a,p', 'bucket' = '2', 'file.format' = 'orc')"
    )
    sql("INSERT INTO t VALUES (1, 'x', 'one')")
    sql("CALL sys.create_tag(table => 'both.t', tag => 'kept')")
    sql("CALL sys.create_branch(table => 'both.t', branch => 'side', tag => 'kept')")
    sql("CREATE VIEW seen AS SELECT * FROM t")
    sql("CREATE VIEW seen_before AS SELECT * FROM t VERSION AS OF 'kept'")
    before = definition(sql, "t")
    frame = session.sql("SELECT 'two' AS p, 2 AS a")
    frame.write.format("paimon").mode("overwrite").saveAsTable("t")
    assert definition(sql, "t") == before
    for source, rows in (("t", [(2, "none", "two")]), ("seen", [(2, "none", "two")]),
                         ("t VERSION AS OF 'kept'", [(1, "x", "one")]), ("seen_before", [(1, "x", "one")]),
                         ("`t$branch_side`", [(1, "x", "one")])):  # fmt: skip
        assert sql(f"SELECT * FROM {source}") == rows
    frame.write.format("paimon").mode("overwrite").saveAsTable("t$branch_side")
    assert sql("SELECT * FROM `t$branch_side`") == [(2, "none", "two")]
    with pytest.raises(PySparkException, match=r"is a view|is not a Paimon table"):
        frame.write.format("paimon").mode("overwrite").saveAsTable("seen")
    assert sql("SELECT * FROM seen") == [(2, "none", "two")]


@pytest.mark.parametrize("mode", ["errorifexists", "append", "ignore", "overwrite"])
def test_save_as_table_gives_new_tables_their_options(session: SparkSession, sql: Sql, mode: str) -> None:
    writer = session.sql("SELECT 1 AS a, 'x' AS p").write.format("paimon").mode(mode).partitionBy("p")
    writer.options(**{"primary-key": "a,p", "bucket": "2", "write.merge-schema": "true"}).saveAsTable("made")
    assert sql("SELECT * FROM made") == [(1, "x")]
    text = definition(sql, "made")
    assert "PARTITIONED BY (p)" in text and "merge-schema" not in text
    assert "'bucket' = '2'" in text and "PRIMARY KEY (a, p) NOT ENFORCED" in text

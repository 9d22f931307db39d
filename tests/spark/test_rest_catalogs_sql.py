"""REST catalogs through SQL: their statements are those of any catalog, and a server decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from tests.newer_rest import NewerRest
from tests.rest_server import TOKEN, RestServer
from tests.spark.server_lake import Lake

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def lake(sql: Sql, rest: RestServer) -> Iterator[Sql]:
    """Statements in a session with a catalog ``lake``, in which ``here`` stands for a database of the test's own."""
    options = {**rest.options, "type": "paimon", "catalog-options-table.enabled": "true"}
    said = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    sql(f"CREATE CATALOG lake WITH ({said})")
    own = rest.new_name()
    sql(f"CREATE DATABASE lake.{own}")
    yield lambda text: sql(re.sub(r"\bhere\b", own, text))
    sql(f"DROP DATABASE lake.{own} CASCADE")
    sql("DROP CATALOG lake")


def test_databases_are_made_described_changed_and_dropped(lake: Sql) -> None:
    lake("CREATE DATABASE lake.e COMMENT 'a comment' WITH DBPROPERTIES ('k' = 'v')")
    lake("ALTER DATABASE lake.e SET DBPROPERTIES ('k' = 'w', 'l' = 'x')")
    told: dict[str, str] = dict(lake("DESCRIBE DATABASE EXTENDED lake.e"))
    assert told["Comment"] == "a comment" and told["Properties"] == "((k,w), (l,x))"
    with pytest.raises(Exception, match="already exists"):
        lake("CREATE DATABASE lake.e")
    lake("CREATE TABLE lake.e.t (id INT)")
    with pytest.raises(Exception, match="SCHEMA_NOT_EMPTY"):
        lake("DROP DATABASE lake.e")
    lake("DROP DATABASE lake.e CASCADE")
    assert ("e",) not in lake("SHOW DATABASES IN lake") and ("default",) in lake("SHOW DATABASES IN lake")


def test_tables_live_as_in_any_catalog(lake: Sql, rest: RestServer) -> None:
    lake(
        "CREATE TABLE lake.here.t (id INT NOT NULL, v STRING, r STRUCT<a: INT>, dt STRING) PARTITIONED BY (dt)"
        " TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '2', 'deletion-vectors.enabled' = 'true')"
    )
    lake("INSERT INTO lake.here.t VALUES (1, 'a', struct(1), 'x'), (2, 'b', NULL, 'x'), (3, 'é😀', struct(NULL), 'z')")
    lake("UPDATE lake.here.t SET v = 'c' WHERE id = 2")
    lake("DELETE FROM lake.here.t WHERE id = 1")
    lake("ALTER TABLE lake.here.t ADD COLUMNS (w INT FIRST, r.b DOUBLE AFTER a)")
    lake("ALTER TABLE lake.here.t ALTER COLUMN w TYPE BIGINT")
    lake("ALTER TABLE lake.here.t RENAME COLUMN v TO text")
    lake("ALTER TABLE lake.here.t SET TBLPROPERTIES ('snapshot.num-retained.min' = '2', 'comment' = 'said')")
    lake(
        "MERGE INTO lake.here.t USING (SELECT 9 AS id, 'x' AS dt) AS s ON t.id = s.id"
        " WHEN NOT MATCHED THEN INSERT (w, id, text, r, dt) VALUES (5, s.id, 'm', NULL, s.dt)"
    )
    assert lake("SELECT w, id, text, r.b, dt FROM lake.here.t ORDER BY id") == [
        (None, 2, "c", None, "x"),
        (None, 3, "é😀", None, "z"),
        (5, 9, "m", None, "x"),
    ]
    assert lake("SHOW PARTITIONS lake.here.t") == [("dt=x",), ("dt=z",)]
    ((latest, database),) = lake("SELECT max(snapshot_id), 'here' FROM lake.here.t$snapshots")
    assert rest.java("latest", f"{database}.t")[0] == str(latest)
    lake("CALL lake.sys.create_tag('here.t', 'now')")
    lake("INSERT OVERWRITE lake.here.t VALUES (0, 0, 'o', NULL, 'x')")
    assert lake("SELECT count(*) FROM lake.here.t VERSION AS OF 'now'") == [(3,)]
    lake("CALL lake.sys.rollback('here.t', 'now')")
    assert lake("SELECT count(*) FROM lake.here.t") == [(3,)]
    lake("CALL lake.sys.create_branch('here.t', 'b', 'now')")
    lake("INSERT INTO lake.here.`t$branch_b` VALUES (1, 10, 'b', NULL, 'y')")
    assert lake("SELECT count(*) FROM lake.here.`t$branch_b`") == [(4,)]
    lake("CALL lake.sys.fast_forward('here.t', 'b')")
    assert lake("SELECT count(*) FROM lake.here.t") == [(4,)]
    lake("CREATE TABLE lake.here.u AS SELECT id, text FROM lake.here.t WHERE dt = 'y'")
    lake("INSERT INTO lake.here.u SELECT id, v FROM VALUES (1, 'x') AS s(id, v)")
    lake("CALL lake.sys.compact('here.u')")
    assert lake("SELECT * FROM lake.here.u ORDER BY id") == [(1, "x"), (10, "b")]
    lake("DROP TABLE lake.here.u")
    assert lake("SHOW TABLES IN lake.here") == [(database, "t", False)]
    told: dict[str, str] = dict(lake("SELECT * FROM lake.sys.catalog_options"))
    assert told["metastore"] == "rest" and told["prefix"] == "paimon" and TOKEN not in told.values()


def test_streams_commit_once(lake: Sql, spark: SparkSession, tmp_path: Path) -> None:
    ((database,),) = lake("SELECT 'here'")
    lake("CREATE TABLE lake.here.source (id INT)")
    lake("CREATE TABLE lake.here.target (id INT)")
    for i in range(2):
        lake(f"INSERT INTO lake.here.source VALUES ({i})")
        stream = spark.readStream.table(f"lake.{database}.source").writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(tmp_path)).toTable(f"lake.{database}.target").awaitTermination()
    assert lake("SELECT * FROM lake.here.target ORDER BY id") == [(0,), (1,)]


def test_format_tables_and_statements_across_catalogs(lake: Sql) -> None:
    lake("CREATE TABLE lake.here.f (id INT, v STRING) USING csv")
    lake("INSERT INTO lake.here.f VALUES (1, 'x')")
    lake("CREATE TABLE own AS SELECT f.id, f.v || 'y' AS v FROM lake.here.f")
    lake("CREATE TABLE lake.here.t AS SELECT * FROM own")
    assert lake("SELECT v FROM lake.here.t JOIN own USING (id, v)") == [("xy",)]


@pytest.mark.skipif(not HAS_VIEWS, reason="Spark asks catalogs for views since 4.2")
def test_views_and_functions(lake: Sql) -> None:
    lake("CREATE TABLE lake.here.t AS SELECT 1 AS id")
    lake("CREATE FUNCTION lake.here.plus(x INT) RETURNS INT RETURN x + 1")
    lake("CREATE VIEW lake.here.v COMMENT 'x' AS SELECT lake.here.plus(id) AS n FROM lake.here.t")
    assert lake("SELECT * FROM lake.here.v") == [(2,)]
    lake("CREATE OR REPLACE VIEW lake.here.v AS SELECT id - 1 AS n FROM lake.here.t")
    lake("ALTER VIEW lake.here.v RENAME TO here.w")
    assert lake("SELECT * FROM lake.here.w") == [(0,)]
    assert [name for _, name, *_ in lake("SHOW VIEWS IN lake.here")] == ["w"]
    lake("DROP VIEW lake.here.w")
    lake("DROP FUNCTION lake.here.plus")


def test_the_catalog_of_connect_may_be_one(rest: RestServer, spark: SparkSession) -> None:
    settings = {f"spark.sql.catalog.paimon.{k}": v for k, v in rest.options.items()}
    session = paimon_sql.connect(**settings)
    database = rest.new_name()
    session.sql(f"CREATE DATABASE {database}")
    session.sql(f"CREATE TABLE {database}.t AS SELECT 1 AS id")
    assert rest.java("tables", database) == ["t"]
    assert [tuple(row) for row in session.sql(f"SELECT * FROM {database}.t").collect()] == [(1,)]


def test_a_server_that_cannot_replaces_no_tables(
    server_lake: Lake, newer_rest: NewerRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newer_rest, "replaces", False)
    server_lake("CREATE TABLE t AS SELECT 1 AS id")
    for text in ("REPLACE TABLE t (id INT)", "CREATE OR REPLACE TABLE t AS SELECT 2 AS id"):
        with pytest.raises(Exception, match="cannot be replaced: the catalog's server only takes changes"):
            server_lake(text)
    assert server_lake("SELECT * FROM t") == [(1,)]


def test_a_server_that_can_replaces_tables(server_lake: Lake) -> None:
    lake = server_lake
    lake("CREATE TABLE t (id BIGINT, data STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')")
    lake("INSERT INTO t VALUES (1, 'old')")
    place = lake.folder("t")
    lake("REPLACE TABLE t (id BIGINT, name STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4')")
    assert lake("SELECT * FROM t") == [] and lake("SELECT id, data FROM t VERSION AS OF 1") == [(1, "old")]
    lake("INSERT INTO t VALUES (5, 'n')")
    lake("CREATE OR REPLACE TABLE t AS SELECT id + 1 AS id, name || 'x' AS v FROM t")
    assert lake("SELECT * FROM t") == [(6, "nx")] and lake.folder("t") == place
    lake("CREATE OR REPLACE TABLE t AS SELECT * FROM t WHERE false")
    assert lake("SELECT * FROM t") == []
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        lake("CREATE OR REPLACE TABLE t AS SELECT 1 / (id - id) AS n FROM range(3)")
    assert [name for name, *_ in lake("DESCRIBE t")] == ["id", "v"]
    with pytest.raises(Exception, match="of other partition columns or of another kind"):
        lake("CREATE OR REPLACE TABLE t (a INT, b INT) PARTITIONED BY (b)")
    with pytest.raises(Exception, match="NOT_FOUND"):
        lake("REPLACE TABLE nosuch (a INT)")
    lake("CREATE OR REPLACE TABLE u AS SELECT 1 AS a")
    assert lake("SELECT * FROM u") == [(1,)]

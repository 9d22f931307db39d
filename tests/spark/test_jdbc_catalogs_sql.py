"""JDBC catalogs through SQL: their statements are those of any catalog, and their names stand in a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_VIEWS

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def lake(sql: Sql, tmp_path: Path) -> Iterator[Sql]:
    """Statements in a session with two catalogs in one SQLite database, ``lake`` and ``pond``, and a database each."""
    for name in ("lake", "pond"):
        sql(
            f"CREATE CATALOG {name} WITH ('type' = 'paimon', 'metastore' = 'jdbc', 'catalog-key' = '{name}',"
            f" 'uri' = 'jdbc:sqlite:{tmp_path}/catalog.db', 'warehouse' = '{tmp_path}/{name}', 'lock.enabled' = 'true',"
            " 'catalog-options-table.enabled' = 'true', 'jdbc.password' = 'geheim')"
        )
        sql(f"CREATE DATABASE {name}.d")
    yield sql
    for name in ("lake", "pond"):
        sql(f"DROP CATALOG {name}")


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query finds in the catalogs' database."""
    with closing(sqlite3.connect(folder / "catalog.db")) as connection:
        return connection.execute(query).fetchall()


def test_databases_are_made_described_changed_and_dropped(lake: Sql) -> None:
    lake("CREATE DATABASE lake.e COMMENT 'a comment' WITH DBPROPERTIES ('k' = 'v')")
    assert lake("SHOW DATABASES IN lake") == [("d",), ("default",), ("e",)]
    lake("ALTER DATABASE lake.e SET DBPROPERTIES ('k' = 'w', 'l' = 'x')")
    told: dict[str, str] = dict(lake("DESCRIBE DATABASE EXTENDED lake.e"))
    assert told["Comment"] == "a comment" and told["Properties"] == "((k,w), (l,x))"
    with pytest.raises(Exception, match="already exists"):
        lake("CREATE DATABASE lake.e")
    lake("CREATE DATABASE IF NOT EXISTS lake.e")
    lake("CREATE TABLE lake.e.t (id INT)")
    with pytest.raises(Exception, match="SCHEMA_NOT_EMPTY"):
        lake("DROP DATABASE lake.e")
    lake("DROP DATABASE lake.e CASCADE")
    assert lake("SHOW DATABASES IN lake") == [("d",), ("default",)]
    with pytest.raises(Exception, match="cannot place a database elsewhere"):
        lake("CREATE DATABASE lake.f LOCATION '/elsewhere'")


def test_tables_live_as_in_any_catalog(lake: Sql, tmp_path: Path) -> None:
    lake("CREATE TABLE lake.d.t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')")
    lake("INSERT INTO lake.d.t VALUES (1, 'a'), (2, 'b')")
    lake("UPDATE lake.d.t SET v = 'c' WHERE id = 2")
    lake("ALTER TABLE lake.d.t ADD COLUMN w INT")
    lake("ALTER TABLE lake.d.t SET TBLPROPERTIES ('write-only' = 'true')")
    lake("ALTER TABLE lake.d.t RENAME TO d.u")
    assert lake("SELECT * FROM lake.d.u ORDER BY id") == [(1, "a", None), (2, "c", None)]
    assert lake("SELECT count(*) FROM lake.d.u$snapshots") == [(2,)]
    assert lake("SHOW TABLES IN lake.d") == [("d", "u", False)]
    assert rows(tmp_path, "SELECT * FROM paimon_tables") == [("lake", "d", "u")]
    kept: dict[str, str] = dict(rows(tmp_path, "SELECT property_key, property_value FROM paimon_table_properties"))
    assert (kept["write-only"], kept["primary-key"], kept["bucket-key"]) == ("true", "id", "id")
    assert rows(tmp_path, "SELECT * FROM paimon_distributed_locks") == []
    lake("DROP TABLE lake.d.u")
    assert lake("SHOW TABLES IN lake.d") == [] and not (tmp_path / "lake" / "d.db" / "u").exists()


def test_statements_cross_catalogs(lake: Sql) -> None:
    lake("CREATE TABLE lake.d.t AS SELECT 1 AS id, 'x' AS v")
    lake("CREATE TABLE pond.d.t AS SELECT id, v || 'y' AS v FROM lake.d.t")
    lake("CREATE TABLE here (id INT)")
    lake("INSERT INTO here SELECT id FROM pond.d.t")
    assert lake("SELECT a.v, b.v FROM lake.d.t AS a JOIN pond.d.t AS b USING (id) JOIN here USING (id)") == [
        ("x", "xy")
    ]
    assert lake("SHOW TABLES IN pond.d") == [("d", "t", False)]


def test_branches_and_procedures_work(lake: Sql) -> None:
    lake("CREATE TABLE lake.d.t (id INT)")
    lake("INSERT INTO lake.d.t VALUES (1)")
    lake("CALL lake.sys.create_branch(table => 'd.t', branch => 'b')")
    lake("INSERT INTO lake.d.t$branch_b VALUES (2)")
    assert lake("SELECT * FROM lake.d.t$branch_b") == [(2,)]
    lake("CALL lake.sys.compact(table => 'd.t')")
    assert lake("SELECT * FROM lake.d.t") == [(1,)]


def test_repair_takes_up_the_tables_of_a_warehouse(lake: Sql, tmp_path: Path) -> None:
    lake("CREATE TABLE lake.d.t AS SELECT 1 AS id")
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute("DELETE FROM paimon_tables")
        connection.commit()
    assert lake("SHOW TABLES IN lake.d") == []
    with pytest.raises(Exception, match=r"CALL lake\.sys\.repair\('d\.t'\) takes it up"):
        lake("CREATE TABLE IF NOT EXISTS lake.d.t (id INT)")
    ((result, tables, repaired, problems, findings, *_),) = lake("CALL lake.sys.repair('d.t')")
    assert (result, tables, repaired, problems) == (True, 1, 1, 0) and "knows it now" in str(findings)
    assert lake("SELECT * FROM lake.d.t") == [(1,)]


def test_tables_of_sys_tell_of_the_catalog_and_hide_its_password(lake: Sql) -> None:
    lake("CREATE TABLE lake.d.t (id INT)")
    assert lake("SELECT database_name, table_name FROM lake.sys.tables") == [("d", "t")]
    told: dict[str, str] = dict(lake("SELECT * FROM lake.sys.catalog_options"))
    assert told["metastore"] == "jdbc" and told["jdbc.password"] == "******"


def test_format_tables_may_stand_elsewhere_and_others_may_not(lake: Sql, tmp_path: Path) -> None:
    lake(f"CREATE TABLE lake.d.f (id INT) USING csv LOCATION '{tmp_path}/files'")
    lake("INSERT INTO lake.d.f VALUES (1)")
    assert lake("SELECT * FROM lake.d.f") == [(1,)]
    with pytest.raises(Exception, match=r"cannot stand in .*: catalog lake finds tables by name"):
        lake(f"CREATE TABLE lake.d.t (id INT) LOCATION '{tmp_path}/other'")


@pytest.mark.skipif(not HAS_VIEWS, reason="Spark asks catalogs for views since 4.2")
def test_views_are_kept_and_functions_are_not(lake: Sql, tmp_path: Path) -> None:
    lake("CREATE TABLE lake.d.t AS SELECT 1 AS id")
    lake("CREATE VIEW lake.d.v COMMENT 'x' AS SELECT id + 1 AS n FROM lake.d.t")
    assert lake("SELECT * FROM lake.d.v") == [(2,)]
    assert [name for _, name, _ in lake("SHOW VIEWS IN lake.d")] == ["v"]
    assert rows(tmp_path, "SELECT catalog_key, database_name, view_name FROM paimon_views") == [("lake", "d", "v")]
    lake("ALTER VIEW lake.d.v RENAME TO d.w")
    with pytest.raises(Exception, match="already exists"):
        lake("CREATE TABLE lake.d.w (id INT)")
    lake("DROP VIEW lake.d.w")
    with pytest.raises(Exception, match="Catalog lake keeps no functions"):
        lake("CREATE FUNCTION lake.d.f(x INT) RETURNS INT RETURN x")


def test_a_catalog_whose_database_cannot_be_had_says_so(sql: Sql, spark: SparkSession) -> None:
    for options, message in (
        ("'uri' = 'jdbc:postgresql://127.0.0.1:1/x'", "127.0.0.1:1/x refused"),
        ("'uri' = 'jdbc:oracle:x'", "is no address of a database that can keep a catalog"),
        ("'uri' = ''", "has no 'uri'"),
    ):
        with pytest.raises(Exception, match=message):
            sql(f"CREATE CATALOG c WITH ('type' = 'paimon', 'metastore' = 'jdbc', 'warehouse' = 'w', {options})")

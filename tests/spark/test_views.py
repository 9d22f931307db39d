"""Views that the catalog keeps, through SQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_VIEWS

Sql = Callable[[str], list[tuple[Any, ...]]]

pytestmark = pytest.mark.skipif(not HAS_VIEWS, reason="Spark asks catalogs for views since 4.2")


@pytest.fixture
def people(sql: Sql) -> Sql:
    """Statements in a database with a table of two rows, which came in one by one."""
    sql("CREATE TABLE t (id INT, name VARCHAR(20))")
    sql("INSERT INTO t VALUES (1, 'ann')")
    sql("INSERT INTO t VALUES (2, 'bob')")
    return sql


def test_a_view_is_read_listed_and_told(people: Sql) -> None:
    people(
        "CREATE VIEW v (k COMMENT 'the key', n) COMMENT 'all of them' TBLPROPERTIES ('owner team' = 'blue')"
        " AS SELECT id, name FROM t"
    )
    assert people("SELECT * FROM v ORDER BY k") == [(1, "ann"), (2, "bob")]
    assert people("SELECT a.n FROM v AS a JOIN t ON a.k = t.id WHERE t.id > 1") == [("bob",)]
    assert [row[1:] for row in people("SHOW VIEWS")] == [("v", False)]
    assert people("SHOW VIEWS LIKE 'x*'") == []
    assert [row[1] for row in people("SHOW TABLES")] == ["t", "v"]
    assert people("DESCRIBE v") == [("k", "int", "the key"), ("n", "string", None)]
    told = {str(row[0]): row[1] for row in people("DESCRIBE EXTENDED v")}
    assert (told["Type"], told["Comment"], told["View Text"]) == ("VIEW", "all of them", "SELECT id, name FROM t")
    assert people("SHOW TBLPROPERTIES v") == [("owner team", "blue")]
    assert people("SHOW COLUMNS IN v") == [("k",), ("n",)]
    for statement in ("SHOW CREATE TABLE v", "SHOW CREATE VIEW v"):
        made = str(people(statement)[0][0])
        assert "k COMMENT 'the key'" in made
        assert made.rstrip().endswith("AS SELECT id, name FROM t")


def test_views_are_listed_among_tables(people: Sql, spark: SparkSession) -> None:
    database = people("SELECT current_database()")[0][0]
    people("CREATE VIEW seen (k, n COMMENT 'the name') COMMENT 'all' TBLPROPERTIES ('a' = 'b') AS SELECT * FROM t")
    people("CREATE VIEW a_view AS SELECT 1 AS x")
    everything = [(database, "a_view", False), (database, "seen", False), (database, "t", False)]
    assert people("SHOW TABLES") == everything
    assert people(f"SHOW TABLES IN paimon.{database}") == everything
    assert people("SHOW TABLES LIKE 's*|t'") == everything[1:]
    assert people("SHOW TABLES LIKE 'x*'") == []
    # Other tests of the session leave temporary views behind.
    described = {row[1]: str(row[3]) for row in people("SHOW TABLE EXTENDED LIKE '*'") if not row[2]}
    assert list(described) == ["a_view", "seen", "t"]
    assert "Type: MANAGED" in described["t"]
    for line in ("Type: VIEW", "Comment: all", "View Text: SELECT * FROM t", "Table Properties: [a=b]"):
        assert f"\n{line}\n" in described["seen"]
    assert " |-- k: integer (nullable = true)\n" in described["seen"]
    assert [row[1] for row in people("SHOW TABLE EXTENDED LIKE 't'")] == ["t"]
    kinds = {table.name: table.tableType for table in spark.catalog.listTables(database)}
    assert kinds == {"a_view": "VIEW", "seen": "VIEW", "t": "MANAGED"}
    assert [table.name for table in spark.catalog.listTables(database, "s*")] == ["seen"]
    assert [row[1] for row in people("SHOW VIEWS")] == ["a_view", "seen"]
    with pytest.raises(Exception, match="nowhere"):
        people("SHOW TABLES IN nowhere")


def test_temporary_views_are_listed_behind_the_views_of_the_catalog(people: Sql) -> None:
    people("CREATE VIEW zz AS SELECT 1 AS x")
    people("CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT 1 AS x")
    found = [(row[1], row[2]) for row in people("SHOW TABLE EXTENDED LIKE '*'")]
    # Tests that shared this session may have left others.
    temporary = found[2:]
    assert found[:2] == [("t", False), ("zz", False)] and all(is_temporary for _, is_temporary in temporary)
    assert ("passing", True) in temporary and temporary == sorted(temporary)
    people("DROP VIEW passing")


def test_a_shown_view_can_be_made_again(people: Sql) -> None:
    people("CREATE VIEW v (a COMMENT 'it''s', `b c`) COMMENT 'x' TBLPROPERTIES ('p' = 'q') AS SELECT * FROM t")
    shown = str(people("SHOW CREATE VIEW v")[0][0])
    people("DROP VIEW v")
    people(shown)
    assert people("SHOW CREATE VIEW v") == [(shown,)]
    assert people("SELECT `b c` FROM v WHERE a = 2") == [("bob",)]


def test_a_view_is_replaced_altered_renamed_and_dropped(people: Sql, spark: SparkSession) -> None:
    people("CREATE VIEW v AS SELECT id FROM t")
    with pytest.raises(Exception, match="already exists"):
        people("CREATE VIEW v AS SELECT 1 AS x")
    people("CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS x")
    people("CREATE OR REPLACE VIEW v AS SELECT max(id) AS top FROM t")
    assert people("SELECT * FROM v") == [(2,)]
    people("ALTER VIEW v AS SELECT name FROM t WHERE id = 1")
    people("ALTER VIEW v SET TBLPROPERTIES ('a' = '1', 'b' = '2')")
    people("ALTER VIEW v UNSET TBLPROPERTIES ('a')")
    assert people("SHOW TBLPROPERTIES v") == [("b", "2")]
    people("ALTER VIEW v RENAME TO w")
    assert people("SELECT * FROM w") == [("ann",)]
    database = people("SELECT current_database()")[0][0]
    assert [tuple(row) for row in spark.table(f"{database}.w").collect()] == [("ann",)]
    with pytest.raises(Exception, match="cannot be found"):
        people("SELECT * FROM v")
    people("DROP VIEW w")
    people("DROP VIEW IF EXISTS w")
    with pytest.raises(Exception, match="cannot be found"):
        people("DROP VIEW w")


def test_names_in_a_view_mean_what_they_meant_when_it_was_made(people: Sql) -> None:
    home = people("SELECT current_database()")[0][0]
    people("CREATE VIEW inner_v AS SELECT id FROM t")
    people("CREATE VIEW outer_v AS SELECT id + 10 AS id FROM inner_v")
    people("CREATE DATABASE elsewhere_of_views")
    try:
        people("USE elsewhere_of_views")
        people("CREATE TABLE t (id INT)")
        assert people(f"SELECT * FROM {home}.outer_v ORDER BY id") == [(11,), (12,)]
        people(f"ALTER VIEW {home}.outer_v RENAME TO elsewhere_of_views.moved")
        assert people("SELECT sum(id) FROM moved") == [(23,)]
    finally:
        people(f"USE {home}")
        people("DROP DATABASE elsewhere_of_views CASCADE")


def test_a_view_looks_at_other_catalogs_and_from_them(people: Sql, tmp_path: Path) -> None:
    home = people("SELECT current_database()")[0][0]
    people(f"CREATE CATALOG beside WITH ('warehouse' = '{tmp_path}')")
    try:
        people("CREATE TABLE beside.default.o AS SELECT 2 AS id")
        people("CREATE VIEW v AS SELECT name FROM t JOIN beside.default.o AS o ON o.id = t.id")
        people("USE beside.default")
        people(f"CREATE VIEW paimon.{home}.from_beside AS SELECT id FROM o")
        assert people(f"SELECT * FROM paimon.{home}.v") == [("bob",)]
        people(f"USE paimon.{home}")
        assert people("SELECT * FROM from_beside") == [(2,)]
    finally:
        people(f"USE paimon.{home}")
        people("DROP CATALOG beside")


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*) AS n FROM t VERSION AS OF 1", [(1,)]),
        ("SELECT count(*) AS n FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */", [(1,)]),
        ("SELECT name FROM paimon_incremental_query('t', 1, 2)", [("bob",)]),
        ("SELECT max(snapshot_id) AS n FROM t$snapshots", [(2,)]),
        ("WITH x AS (SELECT id FROM t) SELECT sum(id) AS n FROM x", [(3,)]),
        ("SELECT name FROM t ORDER BY 1 DESC LIMIT 1", [("bob",)]),
    ],
)
def test_a_view_may_hold_any_query(people: Sql, query: str, rows: list[tuple[Any, ...]]) -> None:
    people(f"CREATE VIEW v (x) AS {query}")
    assert people("SELECT * FROM v") == rows


def test_a_view_reads_the_newest_rows_and_keeps_its_columns(people: Sql) -> None:
    people("CREATE VIEW v AS SELECT * FROM t")
    people("ALTER TABLE t ADD COLUMN later INT")
    people("INSERT INTO t VALUES (3, 'cyd', 1)")
    assert people("SELECT * FROM v WHERE id = 3") == [(3, "cyd")]
    people("ALTER TABLE t DROP COLUMN name")
    with pytest.raises(Exception, match="re-create the view"):
        people("SELECT * FROM v")


def test_a_view_does_not_lead_to_itself(people: Sql) -> None:
    people("CREATE VIEW a AS SELECT id FROM t")
    people("CREATE VIEW b AS SELECT id FROM a")
    for statement in ("CREATE OR REPLACE VIEW a AS SELECT id FROM b", "ALTER VIEW a AS SELECT id FROM b"):
        with pytest.raises(Exception, match="RECURSIVE_VIEW"):
            people(statement)


def test_a_name_is_a_tables_or_a_views(people: Sql) -> None:
    people("CREATE VIEW v AS SELECT id FROM t")
    for statement in ("CREATE VIEW t AS SELECT 1 AS x", "CREATE TABLE v (id INT)", "ALTER TABLE t RENAME TO v"):
        with pytest.raises(Exception, match="already exists"):
            people(statement)
    for statement in ("CREATE OR REPLACE VIEW t AS SELECT 1 AS x", "DROP VIEW t", "CREATE OR REPLACE TABLE v (x INT)"):
        with pytest.raises(Exception, match=r"(?i)\bview"):
            people(statement)
    with pytest.raises(Exception, match="is a VIEW"):
        people("DROP TABLE v")
    assert people("SELECT count(*) FROM t") == [(2,)]
    assert people("SELECT count(*) FROM v") == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO v VALUES (1)",
        "UPDATE v SET id = 1",
        "DELETE FROM v",
        "SELECT * FROM v VERSION AS OF 1",
        "CALL sys.compact(table => 'v')",
        "CREATE TABLE x LIKE v",
    ],
)
def test_a_view_is_no_table(people: Sql, statement: str) -> None:
    people("CREATE VIEW v AS SELECT id FROM t")
    with pytest.raises(Exception, match=r"v is a view"):
        people(statement)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE VIEW sys.v AS SELECT 1 AS x", "it is the system database"),
        ("CREATE VIEW `v$w` AS SELECT 1 AS x", "cannot contain \\$"),
        ("CREATE VIEW no_such_db.v AS SELECT 1 AS x", "no_such_db"),
        ("CREATE VIEW v AS SELECT 1 AS x, 2 AS x", "already exists"),
        ("CREATE VIEW v (a, b) AS SELECT 1 AS x", "(?i)column"),
        ("CREATE VIEW v WITH SCHEMA EVOLUTION AS SELECT id FROM t", "WITH SCHEMA"),
        ("CREATE VIEW v AS SELECT * FROM only_mine", "only_mine"),
        ("CREATE TABLE _views (id INT)", "is reserved by the catalog"),
    ],
)
def test_a_view_that_cannot_be_is_refused(people: Sql, statement: str, message: str) -> None:
    people("CREATE OR REPLACE TEMPORARY VIEW only_mine AS SELECT 1 AS x")
    with pytest.raises(Exception, match=message):
        people(statement)
    assert people("SHOW VIEWS") == []
    people("DROP VIEW only_mine")


def test_a_database_with_views_is_not_empty(sql: Sql) -> None:
    sql("CREATE DATABASE with_views")
    sql("CREATE VIEW with_views.v AS SELECT 1 AS x")
    with pytest.raises(Exception, match="SCHEMA_NOT_EMPTY"):
        sql("DROP DATABASE with_views")
    sql("DROP DATABASE with_views CASCADE")
    sql("CREATE DATABASE with_views")
    assert sql("SHOW VIEWS IN with_views") == []
    sql("DROP DATABASE with_views")


def test_another_session_reads_a_view_under_the_settings_of_its_maker(people: Sql, spark: SparkSession) -> None:
    database = people("SELECT current_database()")[0][0]
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.catalog.hidden.secret", "do not tell")
    try:
        people("CREATE VIEW v AS SELECT CAST('x' AS INT) AS n")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
        spark.conf.unset("spark.sql.catalog.hidden.secret")
    assert [tuple(row) for row in spark.newSession().sql(f"SELECT * FROM {database}.v").collect()] == [(None,)]
    warehouse = spark.conf.get("spark.sql.catalog.paimon.warehouse")
    kept = (Path(str(warehouse)) / f"{database}.db" / "_views" / "v.json").read_text()
    assert "do not tell" not in kept
    body = json.loads(kept)
    assert body["fields"] == [{"id": 0, "name": "n", "type": "INT"}]
    assert body["query"] == body["dialects"]["spark"] == "SELECT CAST('x' AS INT) AS n"

"""Functions that the catalog keeps, through SQL and procedures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_VIEWS

Sql = Callable[[str], list[tuple[Any, ...]]]

pytestmark = pytest.mark.skipif(not HAS_VIEWS, reason="Spark takes functions of SQL from catalogs since 4.2")

LENGTH_AND_WIDTH = '[{"id": 0, "name": "length", "type": "INT"}, {"id": 1, "name": "width", "type": "INT"}]'
AREA = '[{"id": 0, "name": "area", "type": "BIGINT"}]'
LAMBDA = '{"type": "lambda", "definition": "(Integer a, Integer b) -> { return (long) a * b; }", "language": "JAVA"}'


def change(action: str, definition: str) -> str:
    """A change of the definition for Spark."""
    return f'{{"action": "{action}", "name": "spark", "definition": {definition}}}'


def shown(sql: Sql) -> list[str]:
    """The functions of the current database that are shown; the session may have some of its own beside."""
    names = [str(row[0]) for row in sql("SHOW USER FUNCTIONS")]
    return [name.rsplit(".", 1)[1] for name in names if "." in name]


def test_a_function_is_called_over_constants_and_columns(sql: Sql) -> None:
    database = sql("SELECT current_database()")[0][0]
    sql("CREATE FUNCTION area(width DOUBLE, height DOUBLE DEFAULT 2.0) RETURNS DOUBLE RETURN width * height")
    assert sql(f"SELECT area(2, 3), {database}.area(2), paimon.{database}.AREA(height => 4, width => 1)") == [(6, 4, 4)]
    sql("CREATE TABLE t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, name)")
    assert sql("SELECT name FROM t WHERE area(id) > 3") == [("b",)]
    assert sql("SELECT sum(area(id, id)) FROM t") == [(5,)]
    assert sql("SELECT area(max(id)) FROM t") == [(4,)]


def test_a_body_may_be_a_query_over_tables_of_the_functions_own_database(sql: Sql) -> None:
    database = sql("SELECT current_database()")[0][0]
    sql("CREATE TABLE emp AS SELECT * FROM VALUES (1, 10, 100), (2, 10, 200), (3, 20, 300) AS v(id, dept, pay)")
    sql("CREATE FUNCTION total(d INT) RETURNS BIGINT RETURN SELECT SUM(pay) FROM emp WHERE dept = d")
    sql("USE default")
    assert sql(f"SELECT {database}.total(10)") == [(300,)]
    rows = sql(f"SELECT dept, {database}.total(dept) AS t FROM {database}.emp WHERE id > 1 ORDER BY dept")
    assert rows == [(10, 300), (20, 300)]
    sql(f"USE {database}")


def test_a_function_is_replaced_or_left_as_it_is_and_dropped(sql: Sql) -> None:
    sql("CREATE FUNCTION inc(x INT) RETURNS INT RETURN x + 1")
    with pytest.raises(Exception, match="inc already exists"):
        sql("CREATE FUNCTION inc(x INT) RETURNS INT RETURN x + 2")
    sql("CREATE FUNCTION IF NOT EXISTS inc(x INT) RETURNS INT RETURN x + 100")
    assert sql("SELECT inc(1)") == [(2,)]
    sql("CREATE OR REPLACE FUNCTION INC(x INT) RETURN x + 10")
    assert sql("SELECT inc(1)") == [(11,)]
    assert shown(sql) == ["inc"]
    sql("DROP FUNCTION inc")
    sql("DROP FUNCTION IF EXISTS inc")
    with pytest.raises(Exception, match="inc does not exist"):
        sql("DROP FUNCTION inc")
    with pytest.raises(Exception, match="UNRESOLVED_ROUTINE"):
        sql("SELECT inc(1)")


def test_functions_call_functions_but_not_themselves(sql: Sql) -> None:
    sql("CREATE FUNCTION inc(x INT) RETURN x + 1")
    sql("CREATE FUNCTION twice(x INT) RETURN inc(inc(x))")
    sql("CREATE FUNCTION far(x INT) RETURN (SELECT twice(x + 1))")
    assert sql("SELECT twice(1), far(1)") == [(3, 4)]
    for body in ("inc(x)", "twice(x)", "abs(far(x))"):
        with pytest.raises(Exception, match="inc calls itself"):
            sql(f"CREATE OR REPLACE FUNCTION inc(x INT) RETURN {body}")
    sql("CREATE FUNCTION abs(x INT) RETURN abs(x) + 1")
    database = sql("SELECT current_database()")[0][0]
    assert sql(f"SELECT abs(-1), {database}.abs(-1)") == [(1, 2)]


def test_views_and_other_sessions_call_functions(sql: Sql, spark: SparkSession) -> None:
    database = sql("SELECT current_database()")[0][0]
    sql("CREATE FUNCTION inc(x INT) RETURN x + 1")
    sql("CREATE VIEW v AS SELECT inc(id) AS n FROM VALUES (1), (2) AS t(id)")
    assert sql("SELECT * FROM v ORDER BY n") == [(2,), (3,)]
    other = spark.newSession()
    assert [tuple(r) for r in other.sql(f"SELECT max(n), max({database}.inc(n)) FROM {database}.v").collect()] == [
        (3, 4)
    ]


def test_a_function_is_described(sql: Sql) -> None:
    sql("CREATE FUNCTION f(x INT COMMENT 'what', y INT DEFAULT 1) RETURNS BIGINT COMMENT 'adds' RETURN x + y")
    told = [str(row[0]) for row in sql("DESCRIBE FUNCTION f")]
    assert [line.split(":", 1)[0].strip() for line in told] == [
        "Function",
        "Type",
        "Input",
        "y INT DEFAULT 1",
        "Returns",
    ]
    more = "\n".join(str(row[0]) for row in sql("DESCRIBE FUNCTION EXTENDED f"))
    for part in ("x INT 'what'", "Comment:       adds", "Deterministic: true", "CONTAINS SQL", "Body:          x + y"):
        assert part in more
    assert sql("DESCRIBE FUNCTION abs")[0] == ("Function: abs",)
    sql("CREATE FUNCTION dice() RETURN rand()")
    assert "Deterministic: false" in "\n".join(str(row[0]) for row in sql("DESCRIBE FUNCTION EXTENDED dice"))


def test_settings_of_the_maker_hold(sql: Sql, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        sql("CREATE FUNCTION loose(x STRING) RETURNS INT RETURN CAST(x AS INT)")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert sql("SELECT loose('x')") == [(None,)]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("(x INT) RETURNS INT RETURN SUM(x)", "aggregate"),
        ("(x INT) RETURN row_number() OVER (ORDER BY x)", "window"),
        ("(x INT, x INT) RETURN x", "(?i)duplicate"),
        ("(x INT DEFAULT 1, y INT) RETURN x + y", "DEFAULT"),
        ("(x INT) RETURN y", "`y` cannot be resolved"),
        ("(x INT) RETURNS TABLE(a INT) RETURN SELECT x AS a", "cannot return a table"),
        ("() RETURN (SELECT max(x) FROM only_mine)", "refers to temporary objects: only_mine"),
        ("() RETURN (SELECT max(x) FROM no_such_table)", "no_such_table"),
        ("(x INT RETURN x", "(?i)syntax error"),
    ],
)
def test_a_function_that_cannot_be_is_refused(sql: Sql, definition: str, message: str) -> None:
    sql("CREATE OR REPLACE TEMPORARY VIEW only_mine AS SELECT 1 AS x")
    with pytest.raises(Exception, match=message):
        sql(f"CREATE FUNCTION f{definition}")
    assert shown(sql) == []
    sql("DROP VIEW only_mine")


def test_temporary_functions_stay_sparks(sql: Sql) -> None:
    sql("CREATE TEMPORARY FUNCTION mine(x INT) RETURN x + 1")
    sql("CREATE FUNCTION mine(x INT) RETURN x + 2")
    database = sql("SELECT current_database()")[0][0]
    assert sql(f"SELECT mine(1), {database}.mine(1)") == [(2, 3)]
    sql("DROP TEMPORARY FUNCTION mine")
    assert sql("SELECT mine(1)") == [(3,)]
    sql("DROP FUNCTION mine")


def test_procedures_make_change_and_drop_a_function(sql: Sql) -> None:
    made = sql(f"CALL sys.create_function('area', '{LENGTH_AND_WIDTH}', '{AREA}', true, 'a comment', 'k1=v1,k2=v2')")
    assert made == [(True, None)]
    with pytest.raises(Exception, match="has no definition yet"):
        sql("SELECT area(2, 3)")
    sql(f"CALL sys.alter_function('area', '{change('addDefinition', LAMBDA)}')")
    with pytest.raises(Exception, match="JAVA source, and no compiler"):
        sql("SELECT area(2, 3)")
    in_sql = '{"type": "sql", "definition": "CAST(length AS BIGINT) * width"}'
    with pytest.raises(Exception, match="definition for spark already"):
        sql(f"CALL sys.alter_function('area', '{change('addDefinition', in_sql)}')")
    sql(f"CALL sys.alter_function(`function` => 'area', `change` => '{change('updateDefinition', in_sql)}')")
    assert sql("SELECT area(2, 3)") == [(6,)]
    sql("""CALL sys.alter_function('area', '{"action": "setOption", "key": "k3", "value": "v3"}')""")
    sql("""CALL sys.alter_function('area', '{"action": "removeOption", "key": "k1"}')""")
    sql("""CALL sys.alter_function('area', '{"action": "updateComment", "comment": "another"}')""")
    told = "\n".join(str(row[0]) for row in sql("DESCRIBE FUNCTION EXTENDED area"))
    assert "Comment:       another" in told
    assert "k2=v2" in told
    assert "k3=v3" in told
    assert "k1=v1" not in told
    assert sql("CALL sys.drop_function('area', true)") == [(True, "dry run, nothing was changed")]
    assert sql("SELECT area(1, 1)") == [(1,)]
    assert sql("CALL sys.drop_function(`function` => 'area')") == [(True, None)]
    with pytest.raises(Exception, match="area does not exist"):
        sql("CALL sys.drop_function('area')")


def test_a_dry_run_changes_no_function(sql: Sql) -> None:
    call = (
        f"CALL sys.create_function(`function` => 'f', inputParams => '[]', returnParams => '{AREA}', dry_run => true)"
    )
    sql(call)
    assert shown(sql) == []
    sql("CREATE FUNCTION f() RETURN 1")
    with pytest.raises(Exception, match="f already exists"):
        sql(call)
    found = sql(
        "CALL sys.alter_function(`function` => 'f', `change` => "
        """'{"action": "dropDefinition", "name": "spark"}', dry_run => true)"""
    )
    assert found == [(True, None, "dry run, nothing was changed")]
    assert sql("SELECT f()") == [(1,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("create_function('f', 'x', '[]')", "inputParams is not valid JSON of fields"),
        ("create_function('f', '[{\"id\": 0, \"name\": \"x\"}]', '[]')", "'type' is missing"),
        ("create_function('f', '[]', '{}')", "returnParams is not a list"),
        ("create_function('sys.f', '[]', '[]')", "is reserved for the catalog"),
        ("create_function('', '[]', '[]')", "is not a function of catalog"),
        ("create_function('no_such_db.f', '[]', '[]')", "no_such_db"),
        ("alter_function('g', '{\"action\": \"explode\"}')", 'Unknown action "explode"'),
        ("alter_function('g', 'x')", "change is not valid JSON"),
        ('alter_function(\'g\', \'{"action": "dropDefinition", "name": "flink"}\')', "no definition flink"),
        ('alter_function(\'g\', \'{"action": "setOption", "key": "k"}\')', 'needs "value"'),
        ('alter_function(\'nope\', \'{"action": "removeOption", "key": "k"}\')', "nope does not exist"),
        ("alter_view_dialect('nope', 'drop', 'spark')", "nope does not exist"),
        ("alter_view_dialect('v', 'explode')", "no action 'explode'"),
        ("alter_view_dialect('v', 'add', 'flink')", "needs a query"),
        ("alter_view_dialect('v', 'add', 'spark', 'SELECT 1')", "has a query for spark already"),
        ("alter_view_dialect('v', 'update', 'flink', 'SELECT 1')", "no query for flink"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(sql: Sql, call: str, message: str) -> None:
    sql("CREATE FUNCTION g() RETURN 1")
    sql("CREATE VIEW v AS SELECT 1 AS x")
    with pytest.raises(Exception, match=message):
        sql(f"CALL sys.{call}")


def test_a_view_has_a_query_for_each_engine(sql: Sql) -> None:
    sql("CREATE VIEW v AS SELECT 1 AS x")
    added = sql("CALL sys.alter_view_dialect('v', 'add', 'flink', 'SELECT 2 AS x')")
    assert added == [(True, "flink, spark", None)]
    assert sql("SELECT * FROM v") == [(1,)]
    sql("CALL sys.alter_view_dialect(`view` => 'v', `action` => 'update', `query` => 'SELECT 3 AS x')")
    assert sql("SELECT * FROM v") == [(3,)]
    sql("ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')")
    assert sql("CALL sys.alter_view_dialect('v', 'drop')") == [(True, "flink", None)]
    assert sql("SELECT * FROM v") == [(1,)]


def test_a_class_that_is_not_there_is_told(sql: Sql) -> None:
    sql("CREATE FUNCTION f AS 'no.such.Class' LANGUAGE JAVA")
    assert "no.such.Class" in str(sql("DESCRIBE FUNCTION EXTENDED f")[-1][0])
    with pytest.raises(Exception, match=r"no\.such\.Class"):
        sql("SELECT f(1)")

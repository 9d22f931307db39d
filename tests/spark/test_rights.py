"""Tables of which a server says which rows and values are shown (``query-auth.enabled``), through SQL."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.server_lake import Lake

GUARDED = "TBLPROPERTIES ('query-auth.enabled' = 'true'"


def field(name: str, kind: str = "INT") -> dict[str, Any]:
    """A column as the server names it."""
    return {"index": 0, "name": name, "type": kind}


def leaf(column: str, function: str, *literals: object, kind: str = "INT") -> dict[str, Any]:
    """A condition on a column."""
    transform = {"name": "FIELD_REF", "fieldRef": field(column, kind)}
    return {"kind": "LEAF", "transform": transform, "function": function, "literals": list(literals)}


def joined(function: str, *children: object) -> dict[str, Any]:
    """Conditions joined by AND or OR."""
    return {"kind": "COMPOUND", "function": function, "children": list(children)}


def mask(name: str, *inputs: object) -> dict[str, Any]:
    """What is shown in the place of values."""
    return {"name": name, "inputs": list(inputs)}


@pytest.fixture
def people(server_lake: Lake) -> Lake:
    """A catalog with a table ``t`` of people."""
    server_lake(f"CREATE TABLE t (id INT, name STRING, age INT, born DATE, team STRING) {GUARDED})")
    server_lake(
        "INSERT INTO t VALUES (1, 'Ann', 25, DATE'2001-01-01', 'it'), (2, 'Bo', 30, NULL, 'hr'),"
        " (3, 'Cü', 35, DATE'1991-01-01', 'it'), (4, NULL, NULL, NULL, NULL)"
    )
    return server_lake


def test_rows_that_are_not_shown_are_never_told_of(people: Lake) -> None:
    people.tell_rights("t", leaf("age", "GREATER_OR_EQUAL", 30))
    assert people("SELECT id FROM t ORDER BY id") == [(2,), (3,)]
    assert people("SELECT name FROM t WHERE team = 'it'") == [("Cü",)]  # the column of the condition is not read else
    assert people("SELECT count(*), min(id), count(DISTINCT team) FROM t") == [(2, 2, 2)]
    assert people("SELECT id FROM t WHERE id = 1") == people("SELECT id FROM t WHERE age IS NULL") == []
    assert people("SELECT id FROM t ORDER BY age LIMIT 1") == [(2,)]
    people.tell_rights("t", joined("OR", leaf("age", "LESS_THAN", 27), leaf("team", "EQUAL", "hr", kind="STRING")))
    assert people("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    people.tell_rights("t", leaf("team", "NOT_IN", "hr", kind="STRING"), leaf("age", "BETWEEN", 20, 30))
    assert people("SELECT id FROM t") == [(1,)]
    people.tell_rights("t", leaf("name", "IS_NULL", kind="STRING"))
    assert people("SELECT id FROM t") == [(4,)]
    people.tell_rights("t", leaf("name", "STARTS_WITH", "C", kind="STRING"))
    assert people("SELECT a.id FROM t AS a JOIN t AS b USING (id)") == [(3,)]
    people.tell_rights("t")
    assert people("SELECT count(*) FROM t") == [(4,)]


def test_values_are_masked_before_queries_see_them(people: Lake) -> None:
    people.tell_rights("t", name=mask("CONCAT", "***"), age={"name": "NULL"})
    assert people("SELECT DISTINCT name, age FROM t") == [("***", None)]
    assert people("SELECT id FROM t WHERE name = 'Ann' OR age > 0") == []
    people.tell_rights("t", name=mask("CONCAT_WS", "-", field("name", "STRING"), field("team", "STRING")))
    assert people("SELECT name FROM t ORDER BY id") == [("Ann-it",), ("Bo-hr",), ("Cü-it",), ("",)]
    people.tell_rights("t", leaf("team", "EQUAL", "it", kind="STRING"), team=mask("UPPER", field("name", "STRING")))
    assert people("SELECT id, team FROM t ORDER BY id") == [(1, "ANN"), (3, "CÜ")]


def test_what_rights_cannot_be_told_of_is_not_shown(people: Lake) -> None:
    people.tell_rights("t", leaf("nosuch", "EQUAL", 1))
    with pytest.raises(Exception, match="Unable to read data without column nosuch"):
        people("SELECT id FROM t")
    people.tell_rights("t")
    refused = (
        *("SELECT * FROM t$files", "SELECT * FROM t$audit_log", "SELECT * FROM t$ro"),
        *("DELETE FROM t WHERE id = 1", "UPDATE t SET age = 1", "CALL lake.sys.compact('{d}.t')"),
        "MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    )
    for text in refused:
        with pytest.raises(Exception, match="query authorization supports only"):
            people(text.format(d=people.database))
    people("ALTER TABLE t ADD COLUMN z INT")
    people("INSERT INTO t (id, z) VALUES (9, 9)")
    assert people("SELECT z FROM t WHERE id = 9") == [(9,)]
    people("DROP TABLE t")


def test_rights_hold_for_tables_of_all_kinds(server_lake: Lake) -> None:
    lake = server_lake
    lake(f"CREATE TABLE k (id INT, n INT) {GUARDED}, 'primary-key' = 'id', 'bucket' = '2')")
    lake("INSERT INTO k VALUES (1, 1), (2, 2)")
    lake("INSERT INTO k VALUES (1, 5)")
    lake(f"CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt) {GUARDED})")
    lake("INSERT INTO p VALUES (1, 'a'), (2, NULL)")
    lake.tell_rights("k", leaf("n", "GREATER_THAN", 1))
    assert lake("SELECT * FROM k ORDER BY id") == [(1, 5), (2, 2)]
    lake.tell_rights("p", leaf("dt", "IS_NOT_NULL", kind="STRING"))
    assert lake("SELECT id FROM p") == [(1,)]
    assert lake("SELECT id FROM p WHERE dt IS NULL") == []
    lake("INSERT INTO p VALUES (3, 'b')")
    assert lake("SELECT id FROM p VERSION AS OF 1") == [(1,)]

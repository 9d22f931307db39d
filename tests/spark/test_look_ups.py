"""Look-ups by primary key: what they see, and how little passes between Python and the JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection

Sql = Callable[[str], list[tuple[Any, ...]]]

VECTORS = "'deletion-vectors.enabled' = 'true'"
ENGINES = {
    "merged on read": "'write-only' = 'true'",
    "deletion vectors": VECTORS,
    "first row": "'merge-engine' = 'first-row'",
    "partial update": "'merge-engine' = 'partial-update'",
    "sequence field": "'sequence.field' = 'v'",
}


def keyed(sql: Sql, options: str) -> None:
    sql(f"CREATE TABLE t (k INT, v INT, s STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2', {options})")
    sql("INSERT INTO t SELECT CAST(id AS INT), CAST(id % 10 AS INT), concat('s', id) FROM range(20000)")


@pytest.mark.parametrize("options", ENGINES.values(), ids=ENGINES)
def test_a_look_up_finds_what_a_scan_finds_after_each_commit(options: str, sql: Sql) -> None:
    keyed(sql, options)
    for change in (
        "INSERT INTO t VALUES (7, 100, 'new'), (19999, 0, 'old'), (20000, 5, 'added')",
        "INSERT INTO t VALUES (7, 99, NULL)",
        "ALTER TABLE t ADD COLUMN w INT",
        "INSERT INTO t VALUES (7, 101, 'third', 1)",
        "ALTER TABLE t RENAME COLUMN s TO text",
        "CALL sys.compact(table => 't')",
    ):
        for key in (3, 7, 19999, 20000):
            found = sql(f"SELECT * FROM t WHERE k = {key}")
            assert found == sql(f"SELECT * FROM t WHERE k + 0 = {key}"), key
            assert [row[0] for row in found] == ([key] if key < 20000 else [20000] * len(found))
        sql(change)
    earlier = "SELECT v FROM t VERSION AS OF 3 WHERE"
    assert sql(f"{earlier} k = 7") == sql(f"{earlier} k + 0 = 7")


def test_a_deleted_row_is_not_found_although_its_file_is_known(sql: Sql) -> None:
    keyed(sql, VECTORS)
    assert sql("SELECT v FROM t WHERE k = 12345") == [(5,)]
    sql("DELETE FROM t WHERE k = 12345")
    assert sql("SELECT v FROM t WHERE k = 12345") == []
    sql("UPDATE t SET v = 77 WHERE k = 12346")
    assert sql("SELECT v FROM t WHERE k = 12346") == [(77,)]


def test_a_look_up_returns_values_of_all_types(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k INT, d DECIMAL(30, 5), c CHAR(3), b BINARY, f FLOAT, day DATE, at TIMESTAMP,"
        " local TIMESTAMP_NTZ, list ARRAY<STRING>, m MAP<STRING, INT>, r STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>,"
        " yes BOOLEAN, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')"
    )
    sql(
        "INSERT INTO t VALUES (1, 1.5, 'abc', X'00ff', 0.5, DATE'2026-01-02', TIMESTAMP'2026-01-02 03:04:05.678901',"
        " TIMESTAMP_NTZ'2026-01-02 03:04:05.678901', array('x', NULL), map('a', 1, 'b', NULL),"
        " named_struct('a', 1, 'b', array(named_struct('c', 'y'), NULL)), true),"
        " (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    for key in (1, 2):
        assert sql(f"SELECT * FROM t WHERE k = {key}") == sql(f"SELECT * FROM t WHERE k + 0 = {key}")


def test_a_look_up_takes_few_calls_in_both_directions(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed(sql, "'write-only' = 'false'")
    counts = Counter[str]()
    send, answer = ClientServerConnection.send_command, ClientServerConnection._call_proxy

    def sent(self: Any, command: str) -> Any:
        counts["calls of the JVM"] += not command.startswith("m\n")
        return send(self, command)

    def answered(self: Any, *arguments: Any) -> Any:
        counts["calls of Python"] += 1
        return answer(self, *arguments)

    for key in range(3):
        sql(f"SELECT * FROM t WHERE k = {key}")
    monkeypatch.setattr(ClientServerConnection, "send_command", sent)
    monkeypatch.setattr(ClientServerConnection, "_call_proxy", answered)
    assert len(sql("SELECT * FROM t WHERE k = 123")) == 1
    monkeypatch.undo()
    # PySpark itself makes twelve calls, and Spark's versions differ by a few.
    assert counts["calls of the JVM"] <= 30, counts
    assert counts["calls of Python"] <= 26, counts

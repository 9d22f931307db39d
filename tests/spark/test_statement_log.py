"""The log of statements: one line each, at its first end, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from paimon_sql.spark.statement_log import LOG, Statement, StatementLog, statement_listeners


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    """The fields of the records of a test."""
    caplog.set_level(logging.DEBUG, LOG.name)
    return lambda: [
        (record.levelname, record.__dict__["fields"]) for record in caplog.records if record.name == LOG.name
    ]


def test_a_statement_is_logged_once_with_its_session_and_outcome(logged: Any) -> None:
    log = StatementLog("thrift")
    log.started("s1", Statement("SELECT 1\n  FROM t", "c1", "me", "10.0.0.1"))
    assert len(log) == 1 and logged() == []
    log.finished("s1", rows=3)
    log.canceled("s1", "closed")
    log.failed("unknown", "x")
    ((level, fields),) = logged()
    assert level == "INFO" and fields.pop("duration_ms") >= 0
    assert fields == {
        "server": "thrift", "session": "c1", "user": "me", "client": "10.0.0.1", "statement": "s1",
        "state": "finished", "rows": 3, "sql": "SELECT 1 FROM t",
    }  # fmt: skip
    assert len(log) == 0


def test_a_failure_is_a_warning_with_the_message_alone(logged: Any) -> None:
    log = StatementLog("connect")
    log.started("s1", Statement("SELEC 1", "c1", "me"))
    log.failed("s1", "[PARSE] Wrong.\nReally.\n== SQL ==\nSELEC 1\n^^^", stack="at java")
    (level, fields), (debug, stack) = logged()
    assert (level, fields["state"], fields["error"]) == ("WARNING", "failed", "[PARSE] Wrong. Really.")
    assert (debug, stack) == ("DEBUG", {"statement": "s1"})


def test_no_secret_is_logged_in_statements_nor_in_errors(logged: Any, caplog: pytest.LogCaptureFixture) -> None:
    log = StatementLog("thrift")
    text = f"SET a = 1; CREATE CATALOG c WITH ({' ' * 9000}'s3.secret-key' = 'hunter"
    for statement_id in ("s1", "s2"):
        log.started(
            statement_id, Statement("SET fs.s3a.secret.key=hunter" if statement_id == "s1" else text, "c", "me")
        )
        log.failed(statement_id, "It failed: password = 'hunter' token=hunter", stack="with secret.key=hunter")
    assert len(logged()) == 4
    assert "hunter" not in caplog.text and "hunter" not in str(logged())


def test_long_statements_are_cut(logged: Any) -> None:
    log = StatementLog("thrift")
    log.started("s1", Statement("SELECT '" + "x" * 1_000_000 + "'", "c", "me"))
    log.finished("s1")
    ((_, fields),) = logged()
    assert len(fields["sql"]) == 2001 and fields["sql"].endswith("…") and fields["rows"] is None


def test_listeners_get_what_is_logged_at_any_level() -> None:
    class Listener:
        def __init__(self) -> None:
            self.got: list[object] = []

        def started(self, statement_id: str) -> None:
            self.got.append(statement_id)

        def ended(self, statement_id: str, fields: Mapping[str, str | int | None]) -> None:
            self.got.append((statement_id, fields["state"], fields["sql"]))

    listener, log = Listener(), StatementLog("thrift")
    statement_listeners().append(listener)
    try:
        log.started("s1", Statement("SELECT 1", "c", "me"))
        log.finished("s1", 1)
        log.finished("s1", 1)
    finally:
        statement_listeners().remove(listener)
    assert listener.got == ["s1", ("s1", "finished", "SELECT 1")]

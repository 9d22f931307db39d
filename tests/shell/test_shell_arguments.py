"""The command line: what it makes of its arguments before Spark starts, and the status that it ends with."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from paimon_sql.errors import SetupError
from paimon_sql.shell.app import app
from paimon_sql.shell.console import exit_status
from paimon_sql.shell.engine.engine import Interrupted
from paimon_sql.shell.pieces import split
from paimon_sql.shell.setup import Setup

Shells = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, shells: Shells) -> Callable[..., tuple[int, str, str, Any, Setup | None]]:
    """Runs the command: its status, output, errors, the shell that answered, and how Spark would have been started."""

    def invoke(
        *arguments: str,
        answers: dict[str, Any] | None = None,
        stdin: str = "",
        start: Exception | None = None,
    ) -> tuple[int, str, str, Any, Setup | None]:
        shell = shells(answers)
        setups: list[Setup] = []

        def started(setup: Setup) -> Any:
            setups.append(setup)
            if start is not None:
                raise start
            return SimpleNamespace()

        monkeypatch.setattr(Setup, "start", started)
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr, shell, setups[0] if setups else None

    return invoke


Run = Callable[..., tuple[int, str, str, Any, Setup | None]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--conf", "nonsense"), "'nonsense' is not KEY=VALUE"),
        (("--format", "xml"), "'xml' is not one of csv"),
        (("-f", "/no/such.sql"), "/no/such.sql cannot be read"),
        (("-i", "/no/init.sql", "-e", "SELECT 1"), "/no/init.sql cannot be read"),
        (("-e", "SELECT 1", "-f", "-"), "either -e or -f"),
        (("--limit", "-1"), "--limit"),
        (("--nonsense",), "--nonsense"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_usage_ends_with_two_before_spark_starts(run: Run, arguments: tuple[str, ...], said: str) -> None:
    status, out, err, _, setup = run(*arguments)
    assert (status, setup) == (2, None)
    assert said in err
    assert "Traceback" not in out + err


def test_the_version_is_said_before_spark_starts(run: Run) -> None:
    status, out, _, _, setup = run("--version")
    assert (status, setup) == (0, None)
    assert out.startswith("paimon-sql 0.")


def test_arguments_become_settings_of_spark(run: Run) -> None:
    *_, setup = run(
        *("-w", "/w", "--database", "c.d", "--master", "local[3]", "-c", "a.b=c=d", "--conf", "e="),
        *("--catalog-option", "metastore=jdbc", "-d", "x=1", "--hivevar", "y=a b", "-e", "SELECT 1"),
    )
    assert setup == Setup(
        warehouse="/w",
        conf={"spark.sql.catalog.paimon.metastore": "jdbc", "spark.master": "local[3]", "a.b": "c=d", "e": ""},
        database="c.d",
        variables={"x": "1", "y": "a b"},
    )


def test_statements_of_all_e_run_in_their_order_behind_the_init_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "init.sql").write_text("i;")
    status, *_, shell, _ = run("-e", "a; b", "-i", str(tmp_path / "init.sql"), "-e", "c")
    assert status == 0
    assert shell.statements == ["i", "a", "b", "c"]


def test_files_run_in_their_order_and_a_dash_is_standard_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("a;")
    status, *_, shell, _ = run("-f", str(tmp_path / "a.sql"), "-f", "-", stdin="b;\nc")
    assert status == 0
    assert shell.statements == ["a", "b", "c"]


def test_a_pipe_is_read_without_being_asked_for(run: Run) -> None:
    status, out, err, shell, _ = run("--format", "csv", answers={"q": [("1",)]}, stdin="q;\nquit\nrest;")
    assert (status, out, err) == (0, "c\n1\n", "")
    assert shell.statements == ["q"]


def test_a_failed_statement_ends_with_one(run: Run) -> None:
    status, out, err, shell, _ = run("-e", "a; b; c", "-e", "d", answers={"b": ValueError("no")})
    assert (status, out, shell.statements) == (1, "", ["a", "b"])
    assert err == "Error: ValueError: no\n"


def test_a_failed_statement_ends_with_one_also_where_the_rest_ran(run: Run) -> None:
    status, *_, shell, _ = run("--continue-on-error", "-e", "b; quit", "-e", "d", answers={"b": ValueError("no")})
    assert (status, shell.statements) == (1, ["b"])


def test_a_spark_that_does_not_start_is_one_message_and_one(run: Run) -> None:
    status, out, err, shell, _ = run("-e", "a", start=SetupError("Spark needs Java.", remedy="Install it."))
    assert (status, out, shell.statements) == (1, "", [])
    assert err == "Error: Spark needs Java.\n  Install it.\n"


def test_ctrl_c_ends_with_130(run: Run) -> None:
    status, *_, shell, _ = run("-e", "a; b", answers={"a": Interrupted(abandoned=False)})
    assert (status, shell.statements) == (130, ["a"])


def test_a_reader_that_has_gone_ends_it_quietly(monkeypatch: pytest.MonkeyPatch, shells: Shells) -> None:
    shell = shells({"q": [("1",)]}, format="csv")
    monkeypatch.setattr(shell.out, "write", lambda _: (_ for _ in ()).throw(BrokenPipeError()))
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(fileno=lambda: 1))
    status = exit_status(lambda: shell.runner.run(split("q")), shell.runner.fail)
    assert (status, shell.err.getvalue()) == (141, "")

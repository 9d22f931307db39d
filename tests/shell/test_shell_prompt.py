"""The prompt: several lines, history, completion, colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from paimon_sql.shell.prompt import Prompt, SqlCompleter, fragments

Shells = Callable[..., Any]


class KnownNames:
    """Names without Spark."""

    def catalogs(self) -> list[str]:
        return ["paimon", "spark_catalog"]

    def databases(self, catalog: str | None = None) -> list[str]:
        return ["default", "sales"] if catalog in (None, "paimon") else []

    def tables(self, *database: str) -> list[str]:
        return {(): ["orders", "odd name"], ("sales",): ["items"], ("paimon", "sales"): ["items"]}.get(database, [])

    def columns(self, *table: str) -> list[str]:
        return {("orders",): ["id", "amount"], ("sales", "items"): ["sku"]}.get(table, [])

    def functions(self) -> list[str]:
        return ["abs", "array_agg"]


def completed(text: str) -> list[str]:
    """The texts that completing at ``|`` leads to, or at the end where there is no ``|``."""
    before, _, after = text.partition("|")
    document = Document(before + after, cursor_position=len(before))
    completer = SqlCompleter(KnownNames())  # type: ignore[arg-type]
    found = completer.get_completions(document, CompleteEvent(completion_requested=True))
    return [before[: len(before) + c.start_position] + c.text for c in found]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("sel", "select"),
        ("SEL", "SELECT"),
        ("SELECT * FROM or", "SELECT * FROM orders"),
        ("SELECT * FROM ", "SELECT * FROM sales"),
        ("SELECT * FROM od", "SELECT * FROM `odd name`"),
        ("SELECT * FROM sales.", "SELECT * FROM sales.items"),
        ("SELECT * FROM paimon.sales.it", "SELECT * FROM paimon.sales.items"),
        ("SELECT * FROM paimon.sa", "SELECT * FROM paimon.sales"),
        ("SELECT * FROM sys.maint", "SELECT * FROM sys.maintenance_runs"),
        ("SELECT * FROM paimon.sys.con", "SELECT * FROM paimon.sys.consumers"),
        ("SELECT * FROM orders$su", "SELECT * FROM `orders$summary`"),
        ("SELECT * FROM orders$sn", "SELECT * FROM `orders$snapshots`"),
        ("SELECT * FROM `orders$sn", "SELECT * FROM `orders$snapshots`"),
        ("SELECT am| FROM orders", "SELECT amount"),
        ("SELECT o.am| FROM orders AS o", "SELECT o.amount"),
        ("SELECT * FROM sales.items i WHERE i.s", "SELECT * FROM sales.items i WHERE i.sku"),
        ("SELECT arr", "SELECT array_agg("),
        ("USE sal", "USE sales"),
        ("SELECT 1; CALL sys.comp", "SELECT 1; CALL sys.compact("),
        ("CALL sys.compact(ta", "CALL sys.compact(table => "),
        ("CALL sys.compact(table => 'or", "CALL sys.compact(table => 'orders"),
        ("CREATE TABLE t (k INT) TBLPROPERTIES ('merge-eng", "CREATE TABLE t (k INT) TBLPROPERTIES ('merge-engine"),
        ("CREATE TABLE t (k INT) WITH ('buck", "CREATE TABLE t (k INT) WITH ('bucket-key"),
        (
            "CREATE TABLE t (k INT) WITH ('bucket' = '1', 'merge-e",
            "CREATE TABLE t (k INT) WITH ('bucket' = '1', 'merge-engine",
        ),
        ("SELECT * FROM t /*+ OPTIONS('scan.snap", "SELECT * FROM t /*+ OPTIONS('scan.snapshot-id"),
        ("SELECT * FROM t /*+ OPTIONS('a'='b', 'scan.snap", "SELECT * FROM t /*+ OPTIONS('a'='b', 'scan.snapshot-id"),
        ("SELECT * FROM t /*+ opt", "SELECT * FROM t /*+ OPTIONS('"),
        ("ALTER TABLE t SET ('snapshot.num", "ALTER TABLE t SET ('snapshot.num-retained.max"),
        (
            "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('file.f",
            "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('file.format",
        ),
        (".fo", ".format"),
        (".format ve", ".format vertical"),
    ],
)
def test_what_may_stand_there_is_completed(text: str, whole: str) -> None:
    assert whole in completed(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '/*+ OPTIONS(''buck",
        "WITH a AS (SELECT 1) SELECT * FROM a WHERE b IN ('buck",
        "SELECT 'sel",
        "SELECT a -- sel",
        "SELECT /* sel",
        "-- sel",
    ],
)
def test_nothing_is_completed_in_strings_and_comments(text: str) -> None:
    assert completed(text) == []


def test_arguments_that_were_given_are_not_offered_again() -> None:
    text = "CALL sys.compact(table => 't', "
    assert f"{text}where => " in completed(text)
    assert f"{text}table => " not in completed(text)


def test_a_path_is_completed_behind_source(tmp_path: Path) -> None:
    (tmp_path / "load.sql").touch()
    assert completed(f"source {tmp_path}/lo") == [f"source {tmp_path}/load.sql"]


def test_every_part_of_a_statement_has_its_colour() -> None:
    text = "SELECT 'a', 1, `q`, t.x /* c */ -- d\n, 'open"
    parts = fragments(text)
    assert "".join(part[1] for part in parts) == text
    styles = {part[1].strip(): part[0] for part in parts}
    assert styles["SELECT"] == "class:keyword"
    assert styles["'a'"] == styles["'open"] == "class:string"
    assert styles["1"] == "class:number"
    assert styles["`q`"] == "class:quoted"
    assert styles["x"] == ""
    assert styles["/* c */ -- d"] == "class:comment"


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PipeInput]:
    """What is sent here is typed at the prompt; the history is in ``tmp_path``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


def test_a_statement_may_take_several_lines(keyboard: PipeInput, shells: Shells) -> None:
    shell = shells({"SELECT ';'\n, 2": [("x",)]}, format="csv")
    keyboard.send_text("SELECT ';'\r, 2;\rquit\r")
    Prompt(shell.runner, [], None).run()
    assert shell.statements == ["SELECT ';'\n, 2"]
    assert shell.out.getvalue() == "c\nx\n"


def test_lines_that_are_pasted_keep_their_own_indentation(keyboard: PipeInput, shells: Shells) -> None:
    shell = shells({})
    keyboard.send_text("SELECT 1,\r  2,\r    3,\r4;\rquit\r")
    Prompt(shell.runner, [], None).run()
    assert shell.statements == ["SELECT 1,\n  2,\n    3,\n4"]


def test_an_error_ends_the_statement_and_not_the_shell(keyboard: PipeInput, shells: Shells) -> None:
    shell = shells({"b": ValueError("no")})
    keyboard.send_text("a; b; c;\rd;\r\x04")
    Prompt(shell.runner, [], None).run()
    assert shell.statements == ["a", "b", "d"]
    assert shell.runner.failures == 0


def test_ctrl_c_clears_the_line(keyboard: PipeInput, shells: Shells) -> None:
    shell = shells()
    keyboard.send_text("garbage 'open\x03a;\rexit\r")
    Prompt(shell.runner, [], None).run()
    assert shell.statements == ["a"]


def test_statements_are_remembered_for_the_next_time(keyboard: PipeInput, shells: Shells, tmp_path: Path) -> None:
    shell = shells()
    keyboard.send_text("first\r;\r\x04")
    Prompt(shell.runner, [], None).run()
    keyboard.send_text("\x1b[A\r\x04")
    Prompt(shell.runner, [], None).run()
    assert shell.statements == ["first", "first"]
    assert (tmp_path / "paimon-sql" / "history").stat().st_mode & 0o077 == 0


def test_a_history_that_cannot_be_written_is_done_without(
    keyboard: PipeInput, shells: Shells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    shell = shells()
    keyboard.send_text("a;\rquit\r")
    Prompt(shell.runner, [], None).run()
    assert shell.statements == ["a"]

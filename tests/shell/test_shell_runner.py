"""Running pieces: limits, errors, counts, and the commands of the shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.shell.pieces import from_file, from_stream, split
from paimon_sql.shell.runner import ExitShell

Shells = Callable[..., Any]
NUMBERS = [(str(i),) for i in range(2500)]
WRONG = InvalidInputError("It is wrong.", remedy="Do it right.")


def test_an_answer_for_eyes_stops_at_the_limit_and_says_so(shells: Shells) -> None:
    shell = shells({"q": NUMBERS}, format="vertical", limit=1500, timing=True)
    assert shell.runner.run(split("q;"))
    assert shell.asked == [("q", "text", 1500)]
    assert shell.out.getvalue().count("-- row") == 1500
    assert "first 1,500 rows" in shell.err.getvalue()
    assert "--limit 0" in shell.err.getvalue()


def test_an_answer_of_just_the_limit_is_whole(shells: Shells) -> None:
    shell = shells({"q": NUMBERS[:1000]}, format="vertical", limit=1000, timing=True)
    assert shell.runner.run(split("q;"))
    assert shell.err.getvalue().startswith("1,000 rows")


def test_an_answer_for_programs_streams_to_its_end(shells: Shells) -> None:
    shell = shells({"q": NUMBERS}, format="csv", limit=10)
    assert shell.runner.run(split("q;"))
    assert shell.asked == [("q", "text", None)]
    assert shell.out.getvalue().split() == ["c", *(row[0] for row in NUMBERS)]
    assert shell.err.getvalue() == ""


def test_a_statement_without_rows_puts_nothing_out(shells: Shells) -> None:
    shell = shells(timing=True)
    assert shell.runner.run(split("CREATE TABLE t (k INT);"))
    assert shell.out.getvalue() == ""
    assert shell.err.getvalue().startswith("OK (")


def test_the_first_failure_is_the_last_that_runs(shells: Shells) -> None:
    shell = shells({"b": WRONG})
    assert not shell.runner.run(split("a;\nb;\nc;"), "x.sql")
    assert shell.statements == ["a", "b"]
    assert shell.err.getvalue() == "Error: It is wrong.\n  Do it right.\n  at x.sql:2\n"
    assert shell.out.getvalue() == ""


def test_the_rest_runs_too_where_that_was_asked(shells: Shells) -> None:
    shell = shells({"b": WRONG}, keep_going=True)
    assert not shell.runner.run(split("a; b; c;"))
    assert shell.statements == ["a", "b", "c"]
    assert shell.runner.failures == 1


def test_silence_leaves_errors(shells: Shells) -> None:
    shell = shells({"q": NUMBERS, "b": WRONG}, silent=True, timing=True, limit=1)
    assert not shell.runner.run(split("q; b;"))
    assert shell.err.getvalue().startswith("Error: It is wrong.")


def test_statements_are_said_where_that_was_asked(shells: Shells) -> None:
    shell = shells(echo=True)
    shell.runner.run(split("SELECT 'a'\n, 2;"))
    assert shell.err.getvalue() == "SELECT 'a'\n, 2\n"


def test_quit_leaves(shells: Shells) -> None:
    shell = shells()
    with pytest.raises(ExitShell):
        shell.runner.run(split("a; quit\nb;"))
    assert shell.statements == ["a"]


def test_settings_change_by_commands(shells: Shells) -> None:
    shell = shells({"q": NUMBERS[:3]})
    assert shell.runner.run(split(".format tsv\n.timing on\nq;\n.format vertical\n.limit 2\n.timing off\nq;\n.limit 0"))
    assert shell.out.getvalue() == "c\n0\n1\n2\n-- row 1 --\nc | 0\n-- row 2 --\nc | 1\n"
    assert shell.runner.settings.limit is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (".format nope", "'nope' is not an output format."),
        (".format", "No output format given."),
        (".timing maybe", ".timing takes on or off."),
        (".limit many", ".limit takes a number"),
        (".nothing", "Unknown command .nothing."),
        ("source /no/such/file.sql", "/no/such/file.sql cannot be read"),
        ("source 'open", "Usage: source FILE"),
        ("!exit 3", "exited with status 3"),
    ],
)
def test_a_command_that_cannot_be_run_is_an_error(shells: Shells, line: str, said: str) -> None:
    shell = shells()
    assert not shell.runner.run(split(line))
    assert said in shell.err.getvalue()
    assert shell.runner.failures == 1


def test_source_runs_a_file_and_names_it_in_errors(shells: Shells, tmp_path: Path) -> None:
    inner = tmp_path / "in ner.sql"
    inner.write_text("\ufeffa;\n\nb;", encoding="utf-8")
    shell = shells({"b": WRONG})
    assert not shell.runner.run(split(f"source '{inner}'\nc;"))
    assert shell.statements == ["a", "b"]
    assert f"at {inner}:3" in shell.err.getvalue()


def test_a_file_that_includes_itself_is_an_error(shells: Shells, tmp_path: Path) -> None:
    inner = tmp_path / "inner.sql"
    inner.write_text(f"source {inner}\n")
    shell = shells()
    assert not shell.runner.run(from_file(str(inner)).pieces)
    assert "are nested" in shell.err.getvalue()


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"SELECT '\xff';")
    with pytest.raises(InvalidInputError, match="not UTF-8: the byte at 8"):
        from_file(str(tmp_path / "a.sql"))


def test_the_last_statement_of_a_stream_needs_no_end(shells: Shells, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a;\nb\n")
    shell = shells()
    with (tmp_path / "in").open() as stream:
        assert shell.runner.run(from_stream(stream).pieces)
    assert shell.statements == ["a", "b"]


def test_help_names_every_command_and_format(shells: Shells) -> None:
    shell = shells()
    assert shell.runner.run(split("help"))
    for word in ("source FILE", ".format NAME", ".limit N", ".error", "!COMMAND", "vertical", "quit"):
        assert word in shell.out.getvalue()


def test_everything_known_about_the_last_error_can_be_asked_for(shells: Shells) -> None:
    shell = shells({"b": ValueError("deep")}, keep_going=True)
    shell.runner.run(split(".error\nb;\n.error\n"))
    first, rest = shell.err.getvalue().split("\n", 1)
    assert first == "No error occurred yet."
    assert "Traceback" in rest


def test_tables_is_short_for_a_statement(shells: Shells) -> None:
    shell = shells()
    shell.runner.run(split(".tables\n.tables db"))
    assert shell.statements == ["SHOW TABLES", "SHOW TABLES IN db"]

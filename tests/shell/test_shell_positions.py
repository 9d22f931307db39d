"""Where an error is shown in a statement, and how."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.shell.engine.errors import describe, locate, offset_of
from paimon_sql.shell.engine.report import Report, underlined
from paimon_sql.sql.errors import SqlSyntaxError


def place(statement: str, **said: object) -> str | None:
    span = locate(statement, **{"hint": None, **said})  # type: ignore[arg-type]
    return statement[slice(*span)] if span else None


@pytest.mark.parametrize(
    ("statement", "name", "found"),
    [
        ("SELECT nosuch", "`nosuch`", "nosuch"),
        ("SELECT T.`No``Such` FROM t", "`t`.`no``such`", "T.`No``Such`"),
        ("DROP TABLE nope", "`paimon`.`default`.`nope`", "nope"),
        ("SELECT 'nosuch', 1 -- nosuch", "`nosuch`", None),
        ("SELECT a, a", "`a`", None),
    ],
)
def test_a_name_is_found_without_a_hint_where_it_stands_once(statement: str, name: str, found: str | None) -> None:
    assert place(statement, names=[name]) == found


def test_a_hint_chooses_between_several_places() -> None:
    span = locate("SELECT a, a", hint=(10, 11), names=["`a`"])
    assert span == (10, 11)


def test_a_hint_for_a_whole_statement_is_narrowed_to_the_name() -> None:
    assert place("ALTER TABLE t DROP COLUMN nope", hint=(0, 30), names=["`nope`"]) == "nope"


def test_a_hint_that_counts_in_another_text_is_not_believed() -> None:
    assert place("SELECT x FROM `t$files`", hint=(40, 44), names=["`nope`"]) is None
    assert place("SELECT nope FROM t", hint=(14, 18), names=["`nope`"]) == "nope"


def test_a_hint_alone_covers_its_token() -> None:
    assert place("SELECT abc", hint=(7, 8)) == "abc"
    assert place("SELECT 1/0", hint=(7, 10)) == "1/0"


def test_a_parser_stops_at_a_token_or_at_the_end() -> None:
    assert place("SELEC 1", hint=(0, 1), near="SELEC") == "SELEC"
    assert locate("SELECT (1", hint=(9, 10), near="end of input") == (9, 10)
    assert place("x SELECT y", hint=(5, 6), near="y") == "y"


def test_lines_and_columns_become_offsets() -> None:
    assert [offset_of("ab\ncd", *at) for at in ((1, 1), (2, 0), (2, 9), (7, 0))] == [1, 3, 5, 5]


def test_carets_stand_under_the_wrong_part_of_its_line() -> None:
    text = "SELECT 1,\n\t'日本', nosuch FROM t"
    start = text.index("nosuch")
    assert underlined(text, start, start + 6).plain == "   '日本', nosuch FROM t\n           ^^^^^^"


def test_a_long_line_is_shown_around_the_wrong_part() -> None:
    text = "SELECT " + "a, " * 1000 + "nosuch" + ", b" * 1000
    line, carets = underlined(text, text.index("nosuch"), text.index("nosuch") + 6).plain.split("\n")
    assert len(line) < 140
    assert line[carets.index("^") : carets.rindex("^") + 1] == "nosuch"


def test_an_error_of_ours_shows_its_remedy_and_no_stack() -> None:
    problem = describe(InvalidOptionError("The option 'bukket' does not exist.", key="bukket", remedy="Write bucket."))
    assert said(problem_of=problem) == "Error: The option 'bukket' does not exist.\n  Write bucket.\n"


def test_an_error_of_the_dialect_shows_its_place() -> None:
    text = "CALL\n sys compact()"
    problem = describe(
        SqlSyntaxError("A dot is missing.", text=text, start=10, end=17, remedy="Write sys.compact."), text
    )
    assert said(problem_of=problem, statement=text, origin="a.sql", line=7) == (
        "Error: A dot is missing.\n  Write sys.compact.\n  at a.sql:8\n   sys compact()\n       ^^^^^^^\n"
    )


def test_any_other_error_is_named_and_its_stack_is_for_those_who_ask() -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        problem = describe(error)
    assert said(problem_of=problem) == "Error: KeyError: 'x'\n"
    assert "Traceback" in said(problem_of=problem, verbose=True)


def test_a_message_of_several_lines_stands_indented_and_cannot_command_the_terminal() -> None:
    assert said(problem_of=describe(InvalidInputError("a\nb\x1b[2J"))) == "Error: a\n  b\\x1b[2J\n"


@pytest.mark.parametrize(
    ("rows", "more", "text"),
    [(None, False, "OK"), (0, False, "0 rows"), (1, False, "1 row"), (1000, True, "first 1,000 rows")],
)
def test_counts_and_times_are_said(rows: int | None, more: bool, text: str) -> None:
    console = Console(file=io.StringIO(), width=200)
    Report(console).done(rows, 1.234, more=more)
    assert console.file.getvalue() == f"{text} (1.23 s)\n"  # type: ignore[attr-defined]


def said(*, problem_of: object, verbose: bool = False, **where: object) -> str:
    file = io.StringIO()
    report = Report(Console(file=file, width=200, highlight=False, markup=False), verbose=verbose)
    report.problem(problem_of, **where)  # type: ignore[arg-type]
    return file.getvalue()

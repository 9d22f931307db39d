"""Text is cut into statements where Spark would, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.shell.pieces import is_complete, split, split_lines, tokens_of

WHOLE = [
    "SELECT 1",
    "SELECT ';' AS a",
    r"SELECT 'it\'s; fine'",
    "SELECT 'it''s; fine'",
    r"SELECT r'\;', ';'",
    r"SELECT 'ends with \\'",
    'SELECT "x;y"',
    "SELECT `a;b``;c` FROM `t;u`",
    "SELECT 1 -- not; here\n + 2",
    "SELECT /* ; /* nested; */ ; */ 1",
    "SELECT /*+ BROADCAST(t) */ 1",
    "SELECT $tag$ ; ' $tag$",
    "BEGIN SELECT 1; SELECT 2; END",
    "BEGIN END",
    "outer: BEGIN inner: BEGIN SELECT 1; END inner; END outer",
    "BEGIN IF a > 1 THEN SELECT 1; ELSEIF a > 0 THEN BEGIN SELECT 2; END; ELSE SELECT 3; END IF; END",
    "BEGIN WHILE CASE WHEN a THEN b ELSE c END DO SELECT 1; END WHILE; END",
    "BEGIN REPEAT SELECT 1; UNTIL CASE WHEN a THEN b END END REPEAT; END",
    "BEGIN l: LOOP LEAVE l; END LOOP l; FOR r AS SELECT CASE WHEN a THEN 1 END FROM t DO SELECT 2; END FOR; END",
    "BEGIN CASE x WHEN 1 THEN SELECT 1; ELSE SELECT 2; END CASE; SELECT 3; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END",
    "BEGIN SELECT t.end, t.case FROM t; SELECT begin FROM t; END",
    "BEGIN SELECT 'END;'; END",
    "CREATE FUNCTION f() RETURNS INT BEGIN RETURN 1; END",
    "BEGIN TRANSACTION",
    "EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1); INSERT INTO u SELECT CASE WHEN a THEN 1 END FROM t; END",
    "EXECUTE /* all */ STATEMENT SET\nBEGIN INSERT INTO t VALUES (';'); END",
    "BEGIN STATEMENT SET; INSERT INTO t VALUES (1); INSERT INTO u VALUES (2); END",
    "EXPLAIN STATEMENT SET BEGIN INSERT INTO t VALUES (1); END",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "EXPLAIN REWRITE BEGIN SELECT 1; SELECT 2; END",
    "EXPLAIN REWRITE EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1); END",
    "EXPLAIN REWRITE SELECT 1",
    "SELECT CASE WHEN a THEN b END",
    "SELECT begin, end FROM t",
    "SET x = 1",
    "source = 1",
]


def texts(text: str) -> list[str]:
    return [piece.text for piece in split(text)]


@pytest.mark.parametrize("statement", WHOLE)
def test_a_statement_stays_whole(statement: str) -> None:
    assert texts(f"{statement};\nSELECT 'next';") == [statement, "SELECT 'next'"]
    assert [piece.complete for piece in split(statement)] == [False]


@given(
    st.lists(
        st.tuples(st.sampled_from(WHOLE), st.sampled_from([";", " ; ", ";\n", ";;", ";-- a;b'\n", "\n;/* ' ; */"])),
        max_size=6,
    )
)
def test_a_script_is_cut_into_what_it_was_made_of(parts: list[tuple[str, str]]) -> None:
    text = "".join(statement + separator for statement, separator in parts)
    pieces = split(text)
    assert [piece.text for piece in pieces] == [statement for statement, _ in parts]
    lines = text.split("\n")
    assert all(lines[piece.line - 1].find(piece.text.split("\n")[0]) >= 0 for piece in pieces)
    assert is_complete(text)


@given(st.text(alphabet="ab;'\"`\\\n -/*$!.BEGINCASE", max_size=60))
def test_any_text_is_cut_without_a_failure_and_the_same_line_by_line(text: str) -> None:
    pieces = split(text)
    assert all(piece.complete for piece in pieces[:-1])
    streamed = list(split_lines(text.splitlines(keepends=True)))
    assert [(p.kind, p.text, p.line) for p in streamed] == [(p.kind, p.text, p.line) for p in pieces]


def test_a_line_is_cut_as_soon_as_its_end_is_there() -> None:
    asked: list[int] = []

    def lines() -> list[str]:
        return ["SELECT 1;\n", "SELECT\n", "2; SELECT 3\n"]

    def stream() -> Iterator[str]:
        for number, line in enumerate(lines()):
            asked.append(number)
            yield line

    pieces = split_lines(stream())
    assert next(pieces).text == "SELECT 1"
    assert asked == [0]
    rest = list(pieces)
    assert [(piece.text, piece.line) for piece in rest] == [("SELECT\n2", 2), ("SELECT 3", 3)]


@pytest.mark.parametrize(
    "text", ["SELECT 'a; b;", "SELECT 1; /* open", "SELECT `a;", 'SELECT "a;', "SELECT $$ a;", "SELECT 'a\\"]
)
def test_what_is_open_waits_for_more(text: str) -> None:
    assert not is_complete(text)
    assert split(text)[-1].text == text.removeprefix("SELECT 1; ")


@pytest.mark.parametrize("text", ["", "  \n", "-- only a comment\n", "/* and one */", ";;"])
def test_nothing_is_complete_and_has_no_pieces(text: str) -> None:
    assert split(text) == []
    assert is_complete(text)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("help", "help"),
        ("QUIT;", "QUIT"),
        ("exit ;", "exit"),
        ("source a b.sql;", "source a b.sql"),
        (".format csv", ".format csv"),
        ("!echo it's; done", "!echo it's; done"),
    ],
)
def test_a_command_takes_its_line(line: str, command: str) -> None:
    kinds = [(piece.kind, piece.text) for piece in split(f"SELECT 1;\n{line}\nSELECT 'x';")]
    assert kinds == [("statement", "SELECT 1"), ("command", command), ("statement", "SELECT 'x'")]


def test_a_command_word_inside_a_statement_is_sql() -> None:
    assert texts("SELECT\nhelp\nFROM quit;") == ["SELECT\nhelp\nFROM quit"]
    assert split("quit_flag = 1;")[0].kind == "statement"


def test_tokens_of_an_unfinished_text_end_with_what_is_open() -> None:
    tokens, is_open = tokens_of("SELECT a, 'b -- c")
    assert is_open
    assert [(token.kind, token.text) for token in tokens[-2:]] == [("op", ","), ("string", "'b -- c")]

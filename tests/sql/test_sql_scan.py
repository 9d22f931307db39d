"""The dialect's tokenizer cuts text as Spark's lexer does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.text.names import parts_in, quote_name, string_sql


def words(text: str) -> list[str]:
    return [text[t.start : t.end + 1] for t in Paimon().tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a.b", ["SELECT", "a", ".", "b"]),
        ("t$files db.t$branch_b$ro", ["t$files", "db", ".", "t$branch_b$ro"]),
        ("a${x}", ["a$", "{", "x", "}"]),
        ("'it''s' 'a\\'b$files' \"x\"\"y\"", ["'it''s'", "'a\\'b$files'", '"x""y"']),
        ("r'a\\' R\"b\\\" 'c'", ["r'a\\'", 'R"b\\"', "'c'"]),
        ("`a``b` `/*+ x */`", ["`a``b`", "`/*+ x */`"]),
        ("1 -- t$x 'y\n2", ["1", "2"]),
        ("1 -- on \\\n still 'x\n2", ["1", "2"]),
        ("1 /* a /* b */ 'c */ 2", ["1", "2"]),
        ("1 /* /*+ x */ 2", ["1", "2"]),
        ("a /*+ OPTIONS('a' = '*/') */ x", ["a", "/*+ OPTIONS('a' = '*/') */", "x"]),
        ("1.5e3 .5 1e5", ["1.5e3", ".", "5", "1e5"]),
        ("db.1t db.2_x", ["db", ".", "1t", "db", ".", "2_x"]),
        ("a|>b||c", ["a", "|>", "b", "||", "c"]),
        ("x -> x::INT => <=> >=", ["x", "->", "x", "::", "INT", "=>", "<=>", ">="]),
        ("MAP<a,ARRAY<b>>", ["MAP", "<", "a", ",", "ARRAY", "<", "b", ">", ">"]),
        ("AS $$ a 'b $$ c", ["AS", "$$ a 'b $$", "c"]),
        ("größe 序列", ["größe", "序列"]),
        ("", []),
    ],
)  # fmt: skip
def test_text_is_cut_into_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("text", ["SELECT 'a", 'SELECT "a', "SELECT `a", "SELECT /* a", "SELECT /*+ a", "/* /* */ a"])
def test_what_is_never_closed_is_left_to_spark(text: str) -> None:
    with pytest.raises(TokenError):
        Paimon().tokenize(text)


@given(st.text())
def test_tokens_lie_in_order_inside_any_text(text: str) -> None:
    try:
        tokens = [t for t in Paimon().tokenize(text) if t.token_type is not TokenType.DCOLON]
    except TokenError:
        return
    assert all(0 <= t.start <= t.end < len(text) for t in tokens)
    assert all(a.start <= b.start for a, b in pairwise(tokens))


@given(st.text())
def test_a_string_literal_gives_its_value_back(value: str) -> None:
    assert [t.text for t in Paimon().tokenize(string_sql(value))] == [value]


@given(st.text(min_size=1))
def test_a_quoted_name_gives_the_name_back(name: str) -> None:
    assert [t.text for t in Paimon().tokenize(quote_name(name))] == [name]
    assert parts_in(f"{quote_name(name)}.x") == (name, "x")


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'a\tb\n'", "a\tb\n"),
        (r"'\u00e9\101'", "éA"),
        (r"'100\%'", r"100\%"),
        ("'it''s'", "it's"),
        (r"r'a\n'", r"a\n"),
        ("$tag$a'b$tag$", "a'b"),
    ],
)
def test_escapes_mean_what_they_mean_in_spark(literal: str, value: str) -> None:
    (token,) = Paimon().tokenize(literal)
    assert token.text == value

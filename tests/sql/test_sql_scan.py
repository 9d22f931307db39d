"""The scanner cuts text as Spark's lexer does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.sql.scan import quote_name, scan, string_sql, string_value, unquote_name


def words(text: str) -> list[str]:
    tokens = scan(text)
    assert tokens is not None
    return [f"{t.kind}:{t.text}" for t in tokens]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a.b", ["word:SELECT", "word:a", "op:.", "word:b"]),
        ("t$files db.t$branch_b$ro", ["word:t$files", "word:db", "op:.", "word:t$branch_b$ro"]),
        ("a${x}", ["word:a", "op:$", "op:{", "word:x", "op:}"]),
        ("'it''s' 'a\\'b$files' \"x\"\"y\"", ["string:'it''s'", "string:'a\\'b$files'", 'string:"x""y"']),
        ("r'a\\' R\"b\\\" 'c'", ["string:r'a\\'", 'string:R"b\\"', "string:'c'"]),
        ("`a``b` `/*+ x */`", ["quoted:`a``b`", "quoted:`/*+ x */`"]),
        ("1 -- t$x 'y\n2", ["number:1", "number:2"]),
        ("1 -- on \\\n still 'x\n2", ["number:1", "number:2"]),
        ("1 /* a /* b */ 'c */ 2", ["number:1", "number:2"]),
        ("1 /* /*+ x */ 2", ["number:1", "number:2"]),
        ("/*+ OPTIONS('a' = '*/') */ x", ["hint:/*+ OPTIONS('a' = '*/') */", "word:x"]),
        ("1.5e3D 10L .5 7BD 1e5", ["number:1.5e3D", "number:10L", "number:.5", "number:7BD", "number:1e5"]),
        ("db.1t db.2_x", ["word:db", "op:.", "word:1t", "word:db", "op:.", "word:2_x"]),
        ("a|>b||c", ["word:a", "op:|>", "word:b", "op:||", "word:c"]),
        ("x -> x::INT => <=> >=", ["word:x", "op:->", "word:x", "op:::", "word:INT", "op:=>", "op:<=>", "op:>="]),
        ("MAP<a,ARRAY<b>>", ["word:MAP", "op:<", "word:a", "op:,", "word:ARRAY", "op:<", "word:b", "op:>", "op:>"]),
        ("AS $$ a 'b $$ c", ["word:AS", "string:$$ a 'b $$", "word:c"]),
        ("größe 序列", ["word:größe", "word:序列"]),
        ("", []),
    ],
)  # fmt: skip
def test_text_is_cut_into_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("text", ["SELECT 'a", 'SELECT "a', "SELECT `a", "SELECT /* a", "SELECT /*+ a", "/* /* */ a"])
def test_what_is_never_closed_is_left_to_spark(text: str) -> None:
    assert scan(text) is None


@given(st.text())
def test_tokens_lie_in_order_inside_any_text(text: str) -> None:
    tokens = scan(text) or []
    assert all(text[t.start : t.end] == t.text for t in tokens)
    assert all(a.end <= b.start for a, b in pairwise(tokens))


@given(st.text())
def test_a_string_literal_gives_its_value_back(value: str) -> None:
    tokens = scan(string_sql(value))
    assert tokens is not None
    assert [string_value(t) for t in tokens] == [value]


@given(st.text(min_size=1))
def test_a_quoted_name_gives_the_name_back(name: str) -> None:
    tokens = scan(quote_name(name))
    assert tokens is not None
    assert [unquote_name(t) for t in tokens] == [name]


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
    tokens = scan(literal)
    assert tokens is not None
    assert string_value(tokens[0]) == value

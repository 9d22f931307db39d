"""Patterns with wildcards take what naive expressions take."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.sql.text.names import Wildcard, wildcard_pattern

PARTS = st.lists(st.one_of(st.sampled_from(Wildcard), st.sampled_from(["a", "b", ".", "ab"])), max_size=7)


@given(PARTS, st.text(alphabet="aAb.\n", max_size=8))
def test_a_pattern_takes_what_it_describes(parts: list[str | Wildcard], text: str) -> None:
    texts = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    naive = "".join(texts[part] if isinstance(part, Wildcard) else re.escape(part) for part in parts)
    expected = re.fullmatch(naive, text, re.IGNORECASE | re.DOTALL) is not None
    assert (wildcard_pattern(parts).fullmatch(text) is not None) == expected


def test_a_pattern_may_have_hundreds_of_wildcards() -> None:
    parts: list[str | Wildcard] = [Wildcard.ANY, "a"] * 300
    parts.insert(0, "x")
    assert wildcard_pattern(parts).fullmatch("x" + "ba" * 300)
    assert not wildcard_pattern(parts).fullmatch("x" + "ba" * 299)

"""Parts of statements that stay text, with the Paimon tables inside."""

from __future__ import annotations

from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.navigator import CLOSING
from paimon_sql.sql.dialect.nodes import Verbatim
from paimon_sql.sql.dialect.relations import RelationParser

_ENDS = frozenset((TokenType.COMMA, TokenType.WHERE, TokenType.WHEN, TokenType.THEN))
"""Tokens that end an expression that stays text, outside of CASE and brackets."""


class TextParser(RelationParser):
    """Parses parts of statements as text."""

    def expression_text(self) -> Verbatim | None:
        """Parse the next expression as text: up to a comma, a closing bracket, WHERE, WHEN or THEN."""
        index, cases = self._index, 0
        while index < self._tokens_size:
            kind = self._tokens[index].token_type
            is_part = index > 0 and self._tokens[index - 1].token_type is TokenType.DOT
            if kind in CLOSING or (cases == 0 and kind in _ENDS and not is_part):
                break
            cases += (kind is TokenType.CASE) - (kind is TokenType.END and cases > 0) if not is_part else 0
            index = self._closing(index) + 1
        return self.text_up_to(index)

    def rest(self) -> Verbatim | None:
        """Parse the rest of the statement as text."""
        return self.text_up_to(self._tokens_size)

    def text_up_to(self, index: int) -> Verbatim | None:
        """Parse the tokens up to an index as text; None if there are none."""
        if index <= self._index:
            return None
        first, last, begin = self._curr, self._tokens[index - 1], self._index
        self._advance(index - self._index)
        node = Verbatim(this=self.sql[first.start : last.end + 1], expressions=self.relations_within(begin, index))
        return self.placed(node, first)

    def as_written(self) -> Verbatim:
        """The rest of the statement, which is not SQL."""
        first, last = self._curr, self._tokens[-1]
        self._advance(self._tokens_size - self._index)
        return self.placed(Verbatim(this=self.sql[first.start : last.end + 1]), first)

    def bracket_text(self) -> Verbatim | None:
        """Parse a bracket with its contents as text; None if no bracket is next.

        ``meta["pieces"]`` is the number of elements between commas, ``meta["words"]`` are the tokens in upper case.
        """
        inside = self.bracket()
        if inside is None:
            return None
        cuts = [inside[0] - 1]
        index = inside[0]
        while index < inside[1]:
            if self._tokens[index].token_type is TokenType.COMMA:
                cuts.append(index)
            index = self._closing(index) + 1
        words = [token.text.upper() for token in self._tokens[inside[0] : inside[1]]]
        node = self.text_up_to(inside[1] + 1)
        assert node is not None
        node.meta.update(pieces=len(cuts) if inside[1] > inside[0] else 0, words=words)
        return node

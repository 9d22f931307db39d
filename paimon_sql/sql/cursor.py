"""Walking over the tokens of a statement, and taking fragments of its text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.scan import Token, scan, string_value, unquote_name

_CLOSING = {"(": ")", "[": "]"}


class Source:
    """A statement's text with its tokens, hints taken out.

    Attributes:
        edits: what the constructs inside queries become (see ``queries``); fragments are taken with them.
        options: the options that hints give to tables, by the offset where the table's name ends.
        hinted: the offset where a hint ends, by the offset where the token before it ends.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = [t for t in tokens if t.kind != "hint"]
        self.edits: list[Edit] = []
        self.options: dict[int, dict[str, str]] = {}
        self.hinted: dict[int, int] = {}

    @cached_property
    def partners(self) -> dict[int, int]:
        """The index of the closing bracket for that of each opening one, and of the opening one for the closing."""
        partners: dict[int, int] = {}
        opened: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.word in _CLOSING:
                opened.append(i)
            elif opened and token.word == _CLOSING[self.tokens[opened[-1]].word]:
                begin = opened.pop()
                partners[begin], partners[i] = i, begin
        return partners


class Cursor:
    """A place in the tokens of a statement, from ``position`` up to ``end``; beyond it every token is an end token."""

    def __init__(self, source: Source, position: int = 0, end: int | None = None) -> None:
        self.source = source
        self.position = position
        self.end = len(source.tokens) if end is None else end

    def fork(self, position: int | None = None, end: int | None = None) -> Cursor:
        """Another cursor on the same statement, here or elsewhere."""
        return Cursor(self.source, self.position if position is None else position, self.end if end is None else end)

    # -- looking -----------------------------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        """The token so many places ahead."""
        index = self.position + ahead
        if index < self.end:
            return self.source.tokens[index]
        stop = self.source.tokens[self.end - 1].end if self.end else 0
        return Token("end", "", "", stop, stop)

    @property
    def done(self) -> bool:
        """Whether no token is left."""
        return self.position >= self.end

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these words or operators; a word may list choices as ``A|B``."""
        return all(self.peek(i).word in word.split("|") for i, word in enumerate(words))

    # -- moving ------------------------------------------------------------------------------------------------------

    def next(self) -> Token:
        """The next token, and step over it."""
        token = self.peek()
        self.position += 1
        return token

    def accept(self, *words: str) -> bool:
        """Step over these words or operators if they are next."""
        if not self.sees(*words):
            return False
        self.position += len(words)
        return True

    def skip(self) -> None:
        """Step over the next token, or over the whole group where it opens one."""
        self.position = (self.source.partners.get(self.position, self.position) if self._opens else self.position) + 1

    @property
    def _opens(self) -> bool:
        return self.peek().word in _CLOSING

    def seek(self, *stops: tuple[str, ...]) -> bool:
        """Go to the next place outside brackets where one of the word sequences stands; False where none does."""
        while not self.done:
            if any(self.sees(*stop) for stop in stops):
                return True
            self.skip()
        return False

    # -- taking ------------------------------------------------------------------------------------------------------

    def name(self) -> str | None:
        """A single name, quoted or not, and step over it."""
        if self.peek().kind not in ("word", "quoted"):
            return None
        return unquote_name(self.next())

    def names(self) -> tuple[str, ...] | None:
        """A name of several parts, or ``IDENTIFIER('..')`` of one string, and step over it."""
        if self.sees("IDENTIFIER", "(") and self.peek(2).kind == "string" and self.peek(3).word == ")":
            parts = names_in(string_value(self.peek(2)))
            self.position += 4
            return parts
        first = self.name()
        if first is None:
            return None
        parts = (first,)
        while self.sees(".") and self.peek(1).kind in ("word", "quoted"):
            self.position += 1
            parts += (unquote_name(self.next()),)
        return parts

    def string(self) -> str | None:
        """The value of a string, and step over it."""
        return string_value(self.next()) if self.peek().kind == "string" else None

    def fragment(self, start: int, end: int | None = None) -> str:
        """The text of the tokens from index ``start`` up to ``end``, or up to here; queries inside are canonical."""
        tokens = self.source.tokens
        end = self.position if end is None else end
        if start >= end:
            return ""
        stop = tokens[end - 1].end
        return apply(self.source.text, self.source.edits, tokens[start].start, self.source.hinted.get(stop, stop))

    def split(self, separator: str = ",") -> list[Cursor]:
        """The pieces of the rest between separators outside brackets; none of an empty rest."""
        pieces: list[Cursor] = []
        start = self.position
        while not self.done:
            if self.sees(separator):
                pieces.append(self.fork(start, self.position))
                start = self.position + 1
            self.skip()
        if start < self.end or pieces:
            pieces.append(self.fork(start, self.end))
        return pieces

    def group(self) -> Cursor | None:
        """The inside of the bracket that is next, and step over it; None where none is next or it never closes."""
        close = self.source.partners.get(self.position) if self._opens else None
        if close is None or close >= self.end:
            return None
        inside = self.fork(self.position + 1, close)
        self.position = close + 1
        return inside

    def rest(self) -> str:
        """The text from here to the end, and go there."""
        start, self.position = self.position, self.end
        return self.fragment(start, self.end)

    # -- complaining -------------------------------------------------------------------------------------------------

    def error(self, problem: str, token: Token | None = None, *, remedy: str | None = None) -> SqlSyntaxError:
        """An error at the token, the next one if none is given."""
        at = token or self.peek()
        return SqlSyntaxError(problem, text=self.source.text, start=at.start, end=at.end, remedy=remedy)


def names_in(text: str) -> tuple[str, ...] | None:
    """The parts of a table name that is written inside a string, such as ``db.`t$branch_b` ``."""
    tokens = scan(text)
    if not tokens:
        return None
    cursor = Cursor(Source(text, tokens))
    parts = cursor.names()
    return parts if cursor.done else None

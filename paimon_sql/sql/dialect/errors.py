"""Errors of texts, with their places."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ParseError


class PlacedError(ParseError):
    """A text that cannot be read.

    Args:
        problem: what is wrong, in one sentence without its point.
        start: the offset of the first character of the wrong part.
        end: that of its last character.
        remedy: what to write instead, in one sentence.
    """

    def __init__(self, problem: str, start: int, end: int, remedy: str | None = None) -> None:
        super().__init__(problem, [{"description": problem}])
        self.problem, self.start, self.end, self.remedy = problem, start, end, remedy


class RefusedError(PlacedError):
    """A construct of Paimon's or Flink's that is malformed or cannot be kept; Spark would not say why.

    Attributes:
        about: the table or function that the statement is about, if it was read.
    """

    def __init__(
        self, problem: str, start: int, end: int, remedy: str | None = None, about: exp.Expr | None = None
    ) -> None:
        super().__init__(problem, start, end, remedy)
        self.about = about

"""Parse errors with their positions."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ParseError


class PositionedError(ParseError):
    """A text cannot be parsed.

    Args:
        problem: what is wrong; one sentence without its full stop.
        start: the offset of the first character of the wrong part.
        end: the offset of its last character.
        remedy: what to write instead; one sentence.
    """

    def __init__(self, problem: str, start: int, end: int, remedy: str | None = None) -> None:
        super().__init__(problem, [{"description": problem}])
        self.problem, self.start, self.end, self.remedy = problem, start, end, remedy


class RefusedError(PositionedError):
    """A construct of Paimon's or Flink's is malformed or cannot be supported; Spark's error would not name the cause.

    Attributes:
        about: the table or function of the statement, if it was parsed.
    """

    def __init__(
        self, problem: str, start: int, end: int, remedy: str | None = None, about: exp.Expr | None = None
    ) -> None:
        super().__init__(problem, start, end, remedy)
        self.about = about

"""Errors with their position in the statement: parse errors of the dialect, and the syntax errors that users get."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ParseError

from paimon_sql.errors import InvalidInputError


class SqlSyntaxError(InvalidInputError):
    """A construct of the dialect is malformed or cannot be supported; nothing was executed.

    Args:
        problem: what is wrong; one sentence.
        text: the whole statement.
        start: the offset of the first character of the wrong part.
        end: the offset after its last character; `highlight` marks at least one character.
        remedy: what to write instead; one sentence.

    Attributes:
        line: the line of ``start``, counted from 1.
        column: the column of ``start`` in its line, counted from 1.
    """

    def __init__(self, problem: str, *, text: str, start: int, end: int, remedy: str | None = None) -> None:
        self.text = text
        self.start = min(start, len(text))
        self.end = end
        self.line = text.count("\n", 0, self.start) + 1
        self.column = self.start - (text.rfind("\n", 0, self.start) + 1) + 1
        super().__init__(f"{problem} (line {self.line}, column {self.column})", remedy=remedy)
        self.problem = problem

    @classmethod
    def of(cls, error: RefusedError, text: str) -> SqlSyntaxError:
        """Convert an error of the dialect."""
        return cls(f"{error.problem}.", text=text, start=error.start, end=error.end + 1, remedy=error.remedy)

    def highlight(self) -> str:
        """The line with the wrong part, and below it a line of carets under that part."""
        begin = self.start - (self.column - 1)
        stop = self.text.find("\n", begin)
        line = self.text[begin:] if stop < 0 else self.text[begin:stop]
        indent = "".join(c if c == "\t" else " " for c in line[: self.column - 1])
        width = max(1, min(self.end, begin + len(line)) - self.start)
        return f"{line}\n{indent}{'^' * width}"


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

    about: exp.Expr | None = None

"""The error of a statement that cannot be read, with the place where it went wrong."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.dialect.errors import RefusedError


class SqlSyntaxError(InvalidInputError):
    """A construct of the dialect that is malformed or cannot be kept; nothing was executed.

    Args:
        problem: what is wrong, in one sentence.
        text: the whole statement.
        start: the offset of the first character of the wrong part.
        end: the offset after its last character; at least one character is underlined.
        remedy: what to write instead, in one sentence.

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
        """The error of a text that the dialect refused."""
        return cls(f"{error.problem}.", text=text, start=error.start, end=error.end + 1, remedy=error.remedy)

    def highlight(self) -> str:
        """The line of the statement that holds the wrong part, and below it a line of carets under that part."""
        begin = self.start - (self.column - 1)
        stop = self.text.find("\n", begin)
        line = self.text[begin:] if stop < 0 else self.text[begin:stop]
        indent = "".join(c if c == "\t" else " " for c in line[: self.column - 1])
        width = max(1, min(self.end, begin + len(line)) - self.start)
        return f"{line}\n{indent}{'^' * width}"

"""Syntax errors with their position in the statement."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.dialect.errors import RefusedError


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

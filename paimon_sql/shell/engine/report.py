"""Messages of the shell on standard error: errors with positions, counts and times, notes, commits."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from paimon_sql.errors import PaimonError
from paimon_sql.shell.engine.problem import Problem, problem_of
from paimon_sql.shell.engine.rows import visible

_BEFORE, _AFTER = 60, 60


@dataclass
class Report:
    """Prints messages besides results.

    Attributes:
        console: standard error.
        verbose: whether to print the details of errors.
    """

    console: Console
    verbose: bool = False

    def problem(self, problem: Problem, statement: str = "", *, origin: str | None = None, line: int = 1) -> None:
        """Print an error, with its position.

        Args:
            problem: the error.
            statement: its statement.
            origin: the file of the statement.
            line: the line of the file where the statement begins.
        """
        self._print(Text.assemble(("Error: ", "bold red"), _indented(problem.message)))
        if problem.remedy:
            self._print(Text(f"  {_indented(problem.remedy)}"))
        at = statement.count("\n", 0, problem.span[0]) if problem.span else 0
        if origin is not None:
            self._print(Text(f"  at {origin}:{line + at}", style="dim"))
        elif problem.span and "\n" in statement:
            self._print(Text(f"  at line {1 + at}", style="dim"))
        if problem.span:
            self._print(underlined(statement, *problem.span))
        if problem.code:
            self._print(Text(f"  {problem.code}", style="dim"))
        if self.verbose and problem.details:
            self._print(Text(problem.details, style="dim"))

    def error(self, error: Exception) -> None:
        """Print an error that is about no statement."""
        if isinstance(error, PaimonError):
            self.problem(problem_of(error))
            return
        # Other errors may be Spark's, which only code that imports Spark can tell.
        from paimon_sql.shell.engine.errors import describe

        self.problem(describe(error))

    def done(self, rows: int | None, seconds: float, *, more: bool = False) -> None:
        """Print the number of rows, None for a statement without rows, and the time."""
        if rows is None:
            summary = "OK"
        elif more:
            summary = f"first {rows:,} rows"
        else:
            summary = f"{rows:,} row" if rows == 1 else f"{rows:,} rows"
        self._print(Text(f"{summary} ({seconds:.2f} s)", style="dim"))

    def note(self, text: str) -> None:
        """Print a note."""
        self._print(Text(text, style="dim"))

    def _print(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True)


def _indented(text: str) -> str:
    """Indent the lines of a text, and escape control characters other than line breaks."""
    return "\n  ".join(map(visible, text.split("\n")))


def underlined(statement: str, start: int, end: int) -> Text:
    """The statement's line of ``start``, with carets below up to ``end`` or the end of the line."""
    begin = statement.rfind("\n", 0, start) + 1
    stop = statement.find("\n", start)
    line = statement[begin:] if stop < 0 else statement[begin:stop]
    first, last = start - begin, max(start - begin + 1, min(end - begin, len(line)))
    left = first - _BEFORE if first > _BEFORE + 3 else 0
    right = last + _AFTER if len(line) > last + _AFTER + 3 else len(line)
    head = ("…" if left else "") + _one_cell(line[left:first])
    marked = _one_cell(line[first:last])
    tail = _one_cell(line[last:right]) + ("…" if right < len(line) else "")
    carets = "^" * max(1, cell_len(marked))
    return Text.assemble(f"  {head}{marked}{tail}\n  {' ' * cell_len(head)}", (carets, "red"))


def _one_cell(text: str) -> str:
    return visible(text.replace("\t", " "))


class CommitLines(logging.Handler):
    """Prints the log line of each commit, dimmed.

    Args:
        console: standard error.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(Text(record.getMessage(), style="dim"), soft_wrap=True)


def show_commits(console: Console) -> None:
    """Print a line for each further commit of this process."""
    # Most commands print no commits, and many make none.
    from paimon_sql.storage.commit.transaction import LOG

    LOG.setLevel(logging.INFO)
    LOG.addHandler(CommitLines(console))
    LOG.propagate = False

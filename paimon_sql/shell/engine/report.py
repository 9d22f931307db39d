"""What the shell says about its work, on standard error: errors with their place, counts and times, notes."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from paimon_sql.shell.engine.cells import visible
from paimon_sql.shell.engine.errors import Problem

_BEFORE, _AFTER = 60, 60


class Report:
    """Talks to the user beside the answers.

    Args:
        console: standard error.
        verbose: whether details follow each error.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self.console = console
        self.verbose = verbose

    def problem(self, problem: Problem, statement: str = "", *, origin: str | None = None, line: int = 1) -> None:
        """Say what went wrong, and show where.

        Args:
            problem: what went wrong.
            statement: the statement that it is about.
            origin: the file that the statement is from.
            line: the line of that file on which the statement begins.
        """
        self._say(Text.assemble(("Error: ", "bold red"), _indented(problem.message)))
        if problem.remedy:
            self._say(Text(f"  {_indented(problem.remedy)}"))
        at = statement.count("\n", 0, problem.span[0]) if problem.span else 0
        if origin is not None:
            self._say(Text(f"  at {origin}:{line + at}", style="dim"))
        elif problem.span and "\n" in statement:
            self._say(Text(f"  at line {1 + at}", style="dim"))
        if problem.span:
            self._say(underlined(statement, *problem.span))
        if problem.code:
            self._say(Text(f"  {problem.code}", style="dim"))
        if self.verbose and problem.details:
            self._say(Text(problem.details, style="dim"))

    def done(self, rows: int | None, seconds: float, *, more: bool = False) -> None:
        """Say how many rows there were, None for a statement without rows, and how long it took."""
        if rows is None:
            said = "OK"
        elif more:
            said = f"first {rows:,} rows"
        else:
            said = f"{rows:,} row" if rows == 1 else f"{rows:,} rows"
        self._say(Text(f"{said} ({seconds:.2f} s)", style="dim"))

    def note(self, text: str) -> None:
        """Say something by the way."""
        self._say(Text(text, style="dim"))

    def _say(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True)


def _indented(text: str) -> str:
    """The text with its lines below one another, and every control character but line breaks written out."""
    return "\n  ".join(map(visible, text.split("\n")))


def underlined(statement: str, start: int, end: int) -> Text:
    """The line of the statement on which ``start`` stands, and carets below up to ``end`` or the end of the line."""
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

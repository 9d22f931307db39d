"""Execution of pieces: statements in Spark, commands in the shell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from rich.console import Console

from paimon_sql.shell.engine.engine import Engine, Interrupted
from paimon_sql.shell.engine.errors import describe
from paimon_sql.shell.engine.listings import similar_name
from paimon_sql.shell.engine.problem import Problem
from paimon_sql.shell.engine.progress import ProgressLine
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.engine.result import Result, execute
from paimon_sql.shell.formats import Format, formats
from paimon_sql.shell.pieces import Piece

_SUGGESTION_SECONDS = 5.0


@dataclass
class Settings:
    """Settings of the shell; commands may change them.

    Attributes:
        format: name of the output format.
        limit: max number of rows that limited formats show; None for all.
        header: whether to print column names.
        timing: whether to print row counts and times.
        silent: whether to print errors only.
        echo: whether to print each statement before it runs.
        keep_going: whether to run the pieces after a failed one.
    """

    format: str = "table"
    limit: int | None = 1000
    header: bool = True
    timing: bool = False
    silent: bool = False
    echo: bool = False
    keep_going: bool = False


class ExitShell(Exception):  # noqa: N818 - nothing is wrong
    """Leave the shell."""


@dataclass
class Runner:
    """Runs pieces.

    Attributes:
        engine: the engine that runs statements.
        settings: the settings of the shell.
        out: standard output, for results.
        report: for everything else.
        command: runs a command of the shell; it may raise `ExitShell`.
        failures: number of reported errors.
        last_problem: the last reported error.
        sources: the files that currently include one another, outermost first.
    """

    engine: Engine
    settings: Settings
    out: Console
    report: Report
    command: Callable[[Runner, str], bool]
    failures: int = 0
    last_problem: Problem | None = None
    sources: list[str] = field(default_factory=list)

    def run(self, pieces: Iterable[Piece], origin: str | None = None) -> bool:
        """Run pieces; returns whether all succeeded.

        The first failure ends the run, unless ``keep_going`` is set.

        Args:
            pieces: the pieces.
            origin: their file, for messages.

        Raises:
            ExitShell: a command leaves the shell.
            Interrupted: Ctrl-C.
        """
        succeeded = True
        for piece in pieces:
            done = self.command(self, piece.text) if piece.kind == "command" else self._statement(piece, origin)
            succeeded = succeeded and done
            if not done and not self.settings.keep_going:
                break
        return succeeded

    def fail(self, error: BaseException, piece: Piece | None = None, origin: str | None = None) -> None:
        """Report and count an error."""
        statement, line = (piece.text, piece.line) if piece else ("", 1)
        self.failures += 1
        self.last_problem = self._with_suggestion(describe(error, statement))
        self.report.problem(self.last_problem, statement, origin=origin, line=line)

    def _with_suggestion(self, problem: Problem) -> Problem:
        """The problem with the existing name that is most similar to a missing one, if Spark answers soon."""
        missing = problem.missing
        if missing is None or problem.remedy is not None:
            return problem
        with suppress(Exception):  # the error itself must be reported
            suggested = self.engine.submit(lambda session: similar_name(session, missing)).result(_SUGGESTION_SECONDS)
            return replace(problem, remedy=suggested)
        return problem

    def start_engine(self) -> bool:
        """Wait until Spark has started; returns whether it did, and reports an error."""
        try:
            with ProgressLine(self.report.console, shown=not self.settings.silent) as waited:
                self.engine.run(lambda _: None, waited)
        except Interrupted:
            raise
        except Exception as error:
            self.fail(error)
            return False
        return True

    def _statement(self, piece: Piece, origin: str | None) -> bool:
        settings = self.settings
        if settings.echo:
            self.report.note(piece.text)
        form = formats()[settings.format](self.out, header=settings.header)
        try:
            self._show(piece.text, form)
        except (Interrupted, BrokenPipeError):
            raise
        except Exception as error:
            self.fail(error, piece, origin)
            return False
        finally:
            self.out.file.flush()
        return True

    def _show(self, statement: str, form: Format) -> None:
        limit = self.settings.limit if form.limited else None
        since = time.perf_counter()
        with ProgressLine(self.report.console, shown=not self.settings.silent) as waited:
            result = self.engine.run(lambda session: execute(session, statement, form.encoding, limit), waited)
            try:
                rows, more = self._write(result, form, limit, waited)
            finally:
                self.engine.submit(lambda _: result.close())
        if self.settings.timing and not self.settings.silent:
            self.report.done(rows, time.perf_counter() - since, more=more)
        if more and not self.settings.silent:
            self.report.note("There are more rows: '.limit 0' or '--limit 0' shows all, '--format csv' streams them.")

    def _write(self, result: Result, form: Format, limit: int | None, waited: ProgressLine) -> tuple[int | None, bool]:
        """Print a result; returns the number of shown rows (None without columns), and whether there are more."""
        if not result.columns:
            return None, False
        count, begun = 0, False
        while True:
            rows = self.engine.run(lambda _: result.fetch(), waited)
            waited.pause()
            # Print nothing before the first rows arrive: most statements that fail do so there.
            if not begun:
                form.begin(result.columns)
                begun = True
            shown = rows if limit is None else rows[: limit - count]
            if shown:
                form.write(shown)
            count += len(shown)
            if not rows or len(shown) < len(rows):
                form.end()
                return count, len(shown) < len(rows)

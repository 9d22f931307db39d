"""Runs pieces one after the other: statements in Spark, commands in the shell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyspark.sql import SparkSession
from rich.console import Console

from paimon_sql.shell.engine.engine import Engine, Interrupted
from paimon_sql.shell.engine.errors import Problem, describe
from paimon_sql.shell.engine.progress import Waited
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.engine.result import Result, execute
from paimon_sql.shell.formats import Format, formats
from paimon_sql.shell.text.splitter import Piece


@dataclass
class Settings:
    """How the shell behaves; commands may change it.

    Attributes:
        format: the name of the output format.
        limit: how many rows a format for eyes shows at most; None for all.
        header: whether column names are put out.
        timing: whether counts and times are said.
        silent: whether nothing is said but errors.
        echo: whether each statement is said before it runs.
        keep_going: whether the pieces behind an error are run.
    """

    format: str = "table"
    limit: int | None = 1000
    header: bool = True
    timing: bool = False
    silent: bool = False
    echo: bool = False
    keep_going: bool = False


class Leave(Exception):  # noqa: N818 - nothing is wrong
    """The user wants to leave the shell."""


class Runner:
    """Runs pieces.

    Args:
        engine: where statements run.
        settings: how the shell behaves.
        out: standard output, for answers.
        report: says everything else.
        command: runs a command of the shell; it may raise `Leave`.

    Attributes:
        failures: how many errors were said.
        last_problem: the last error that was said.
        sources: the files that include one another at this moment, the outermost first.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        out: Console,
        report: Report,
        command: Callable[[Runner, str], bool],
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.out = out
        self.report = report
        self.failures = 0
        self.last_problem: Problem | None = None
        self.sources: list[str] = []
        self._command = command

    def run(self, pieces: Iterable[Piece], origin: str | None = None) -> bool:
        """Run the pieces; whether all went well.

        The first that fails is the last that runs, unless ``keep_going`` is set.

        Args:
            pieces: what to run.
            origin: the file they are from, for messages.

        Raises:
            Leave: a command asked for it.
            Interrupted: by Ctrl-C.
        """
        well = True
        for piece in pieces:
            done = self._command(self, piece.text) if piece.kind == "command" else self._statement(piece, origin)
            well = well and done
            if not done and not self.settings.keep_going:
                break
        return well

    def fail(self, error: BaseException, piece: Piece | None = None, origin: str | None = None) -> None:
        """Say that something failed."""
        statement, line = (piece.text, piece.line) if piece else ("", 1)
        self.failures += 1
        self.last_problem = describe(error, statement)
        self.report.problem(self.last_problem, statement, origin=origin, line=line)

    def prepare(self, work: Callable[[SparkSession], None]) -> bool:
        """Have the engine do something without an answer; whether it went well."""
        try:
            with Waited(self.report.console, shown=not self.settings.silent) as waited:
                self.engine.run(work, waited)
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
        with Waited(self.report.console, shown=not self.settings.silent) as waited:
            result = self.engine.run(lambda session: execute(session, statement, form.encoding, limit), waited)
            try:
                rows, more = self._write(result, form, limit, waited)
            finally:
                self.engine.submit(lambda _: result.close())
        if self.settings.timing and not self.settings.silent:
            self.report.done(rows, time.perf_counter() - since, more=more)
        if more and not self.settings.silent:
            self.report.note("There are more rows: '.limit 0' or '--limit 0' shows all, '--format csv' streams them.")

    def _write(self, result: Result, form: Format, limit: int | None, waited: Waited) -> tuple[int | None, bool]:
        """Put the answer out: how many rows were shown, and whether there are more."""
        if not result.columns:
            return None, False
        count, begun = 0, False
        while True:
            rows = self.engine.run(lambda _: result.fetch(), waited)
            waited.pause()
            # Nothing is put out before the first rows are there, as that is where most statements fail.
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

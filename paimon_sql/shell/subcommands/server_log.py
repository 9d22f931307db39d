"""Log of a command that serves clients, on standard error: statements, commits, warnings, and errors of Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from paimon_sql.observability.log_lines import JsonFormatter, LogfmtFormatter, start_log
from paimon_sql.shell.console import standard_error
from paimon_sql.shell.engine.problem import Problem
from paimon_sql.shell.engine.report import Report

_LOG = logging.getLogger("paimon_sql.server")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


@dataclass(frozen=True)
class ServerLog:
    """The settings of the log.

    Attributes:
        level: the lowest level that is logged, one of `paimon_sql.observability.log_lines.LEVELS`.
        form: the format of lines, one of `paimon_sql.observability.log_lines.FORMATS`.
    """

    level: str = "info"
    form: str = LogfmtFormatter.name

    @contextmanager
    def running(self) -> Iterator[None]:
        """Log during the block."""
        end = start_log(self.level, self.form)
        try:
            yield
        finally:
            end()

    def settings(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Return settings of Spark with which the JVM's log has the same format."""
        given = conf.get(_JAVA_OPTIONS, "")
        return {**conf, _JAVA_OPTIONS: f"-Dpaimon.log.format={self.form} {given}".strip()}

    def report(self, *, verbose: bool = False) -> Report:
        """Return the report of the command: for people, unless all lines are JSON."""
        return (LoggedReport if self.form == JsonFormatter.name else Report)(standard_error(), verbose=verbose)


class LoggedReport(Report):
    """Logs notes and errors instead of printing them."""

    def note(self, text: str) -> None:
        """Log a note."""
        _LOG.info(text)

    def problem(self, problem: Problem, statement: str = "", *, origin: str | None = None, line: int = 1) -> None:
        """Log an error."""
        _LOG.error(f"{problem.message} {problem.remedy}" if problem.remedy else problem.message)

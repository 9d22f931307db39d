"""Log lines of commits on standard error, for ``--verbose``."""

from __future__ import annotations

import logging

from rich.console import Console
from rich.text import Text

from paimon_sql.storage.commit.report import LOG


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
    LOG.setLevel(logging.INFO)
    LOG.addHandler(CommitLines(console))
    LOG.propagate = False

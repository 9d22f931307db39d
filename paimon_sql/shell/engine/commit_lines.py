"""The line that the log has of each commit, for those who asked to hear everything."""

from __future__ import annotations

import logging

from rich.console import Console
from rich.text import Text

from paimon_sql.storage.commit.report import LOG


class CommitLines(logging.Handler):
    """Puts the line of each commit out, dim.

    Args:
        console: standard error.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(Text(record.getMessage(), style="dim"), soft_wrap=True)


def show_commits(console: Console) -> None:
    """From now on put a line out for each commit of this process."""
    LOG.setLevel(logging.INFO)
    LOG.addHandler(CommitLines(console))
    LOG.propagate = False

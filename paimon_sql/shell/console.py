"""Standard output and standard error of the command, and its exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from rich.console import Console

from paimon_sql.shell.engine.engine import Interrupted
from paimon_sql.shell.engine.report import Report, show_commits

FAILED = 1
INTERRUPTED = 128 + signal.SIGINT
PIPE_CLOSED = 128 + 13
"""As if ended by SIGPIPE, which Windows does not have."""
_UNBOUNDED_WIDTH = 1_000_000


def new_report(verbose: bool | None = False) -> Report:
    """The report on standard error; verbose, with a line per commit."""
    report = Report(standard_error(), verbose=bool(verbose))
    if report.verbose:
        show_commits(report.console)
    return report


def standard_error() -> Console:
    """The console of notes and errors."""
    return Console(stderr=True, highlight=False, markup=False)


def standard_output() -> Console:
    """The console of results."""
    # Escape characters that the terminal's encoding lacks, instead of failing in the middle of a result.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    width = None if sys.stdout.isatty() else _UNBOUNDED_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def exit_status(work: Callable[[], None], fail: Callable[[Exception], None]) -> int:
    """Run work; returns the exit status for its outcome, and reports an error by ``fail``."""
    try:
        work()
    except (KeyboardInterrupt, Interrupted):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of standard output has closed it: Python would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        fail(error)
        return FAILED
    return 0

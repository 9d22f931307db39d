"""Progress line on the terminal for long work: its name, tasks done, time."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console

from paimon_sql.shell.engine.engine import Waiting
from paimon_sql.storage.execution.task_executor import running

if TYPE_CHECKING:  # calls of procedures wait without Spark, and most for less than a line is for
    from pyspark.sql import SparkSession
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds before the line appears."""

_POLL = 0.2


class ProgressLine(Waiting):
    """Shows the line after `PATIENCE`, and removes it at the end; shows nothing without a terminal.

    Args:
        console: standard error.
        shown: False to hide the line on a terminal, too.
        idle: the text while there is no session and no task to count.
    """

    def __init__(self, console: Console, *, shown: bool = True, idle: str = "starting Spark") -> None:
        self._console = console
        self._idle = idle
        self._shown = shown and console.is_terminal
        self._since = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: TaskCount | None = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.pause()
        if self._tasks is not None:
            self._tasks.stop()

    def pause(self) -> None:
        """Remove the line until the next tick."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def tick(self, session: SparkSession | None) -> None:
        """Redraw the line."""
        elapsed = time.monotonic() - self._since
        if not self._shown or elapsed < PATIENCE:
            return
        if session is not None and self._tasks is None:
            self._tasks = TaskCount(session)
        description, done, total = self._state(session)
        description = f"{description}, {timedelta(seconds=int(elapsed))}"
        if self._progress is None:
            self._progress = _progress(self._console)
            self._progress.add_task(description, total=None)
            self._progress.start()
        (line,) = self._progress.task_ids
        self._progress.update(line, description=description, completed=done, total=total or None, refresh=True)

    def _state(self, session: SparkSession | None) -> tuple[str, int, int]:
        """Description of the work, and its numbers of finished and all tasks."""
        work = next((work for work in reversed(running()) if work.total), None)
        if work is not None:  # a procedure knows all its tasks, Spark those of each job
            return f"{work.what}: {work.done:,} of {work.total:,} tasks", work.done, work.total
        done, total = self._tasks.count if self._tasks else (0, 0)
        if total:
            return f"{done:,} of {total:,} tasks", done, total
        return self._idle if session is None else "working", 0, 0

    def stopping(self) -> None:
        """Replace the line by a note that the work shall stop."""
        self.pause()
        if self._shown:
            self._console.print("Stopping … (press Ctrl-C again to stop waiting)", style="dim")


def _progress(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30)
    return Progress(*columns, console=console, transient=True, auto_refresh=False)


class TaskCount:
    """Counts the tasks of running jobs in a thread, until `stop`.

    Attributes:
        count: the numbers of finished and all tasks in the stages known so far.
    """

    def __init__(self, session: SparkSession) -> None:
        self.count = (0, 0)
        self._session = session
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="paimon-sql-progress", daemon=True).start()

    def stop(self) -> None:
        """Stop counting."""
        self._stopped.set()

    def _watch(self) -> None:
        from py4j.protocol import Py4JError

        from paimon_sql.shell.engine.jobs import jobs_of

        jobs = jobs_of(self._session)
        while not self._stopped.wait(_POLL):
            try:
                self.count = jobs.count()
            except (Py4JError, OSError):
                return  # Spark has stopped

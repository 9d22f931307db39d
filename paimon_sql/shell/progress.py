"""A line on the terminal while work takes long: what is waited for, tasks done of all, time."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PATIENCE = 1.0
"""Seconds before the line appears."""


class Waited:
    """Shows the line from `PATIENCE` on, and takes it away at the end; nothing where there is no terminal.

    Args:
        console: standard error.
        shown: False keeps it away on a terminal too.
    """

    def __init__(self, console: Console, *, shown: bool = True) -> None:
        self._console = console
        self._shown = shown and console.is_terminal
        self._since = time.monotonic()
        self._progress: Progress | None = None
        self._stopping = False

    def __enter__(self) -> Waited:
        return self

    def __exit__(self, *exception: object) -> None:
        self.pause()

    def pause(self) -> None:
        """Take the line away; the next tick may bring it back."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def tick(self, session: SparkSession | None) -> None:
        """Draw the line anew."""
        if not self._shown or time.monotonic() - self._since < PATIENCE:
            return
        done, total = (0, 0) if session is None else tasks(session)
        if self._progress is None:
            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
                auto_refresh=False,
            )
            self._progress.start()
            self._progress.add_task("", start=True)
            self._progress.tasks[0].start_time = self._progress.get_time() - (time.monotonic() - self._since)
        self._progress.update(
            self._progress.task_ids[0],
            description=self._doing(session, done, total),
            completed=done,
            total=total or None,
            refresh=True,
        )

    def stopping(self) -> None:
        """The work was asked to stop."""
        self._stopping = True
        self.pause()
        if self._shown:
            self._console.print("Stopping … (Ctrl-C again does not wait for it)", style="dim")

    def _doing(self, session: SparkSession | None, done: int, total: int) -> str:
        if session is None:
            return "starting Spark"
        return f"{done:,} of {total:,} tasks" if total else "working"


def tasks(session: SparkSession) -> tuple[int, int]:
    """How many tasks of the running jobs are done, and how many there are in the stages known so far."""
    tracker = session.sparkContext.statusTracker()
    done = total = 0
    for job in map(tracker.getJobInfo, tracker.getActiveJobsIds()):
        for stage in map(tracker.getStageInfo, job.stageIds if job else ()):
            if stage is not None:
                done += stage.numCompletedTasks
                total += stage.numTasks
    return done, total

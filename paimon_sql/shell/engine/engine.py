"""The thread of Spark, so that the prompt appears at once and Ctrl-C always responds."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError, wait
from typing import TYPE_CHECKING, TypeVar

from paimon_sql.storage.execution.task_executor import running

if TYPE_CHECKING:  # calls of procedures wait without Spark
    from pyspark.sql import SparkSession

T = TypeVar("T")

TICK = 0.1
"""Seconds between polls of running work."""


class Interrupted(Exception):  # noqa: N818 - nothing is wrong
    """The user pressed Ctrl-C while a statement ran.

    ``abandoned`` is whether the statement did not stop: it may still run in the background, and succeed.
    """

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__("Interrupted.")
        self.abandoned = abandoned


class Waiting:
    """Observer of a wait for work, which shows nothing by default."""

    def tick(self, session: SparkSession | None) -> None:
        """Called every `TICK`; the session is None while Spark starts."""

    def stopping(self) -> None:
        """Called once, after Ctrl-C, when the work shall stop."""


class Engine:
    """One Spark session, and the thread that starts it and runs all work.

    Args:
        start: creates the session; called immediately, in the engine's thread.
    """

    def __init__(self, start: Callable[[], SparkSession]) -> None:
        self.session: Future[SparkSession] = Future()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._start_thread()
        self._jobs.put(lambda: complete(self.session, start))

    @property
    def ready(self) -> SparkSession | None:
        """The session; None while Spark starts, and if it did not start."""
        return self.session.result() if self.session.done() and self.session.exception() is None else None

    def submit(self, work: Callable[[SparkSession], T]) -> Future[T]:
        """Enqueue work after all earlier work; returns the future of its result."""
        answer: Future[T] = Future()
        # A session that did not start fails all work with its own error.
        self._jobs.put(lambda: complete(answer, lambda: work(self.session.result())))
        return answer

    def run(self, work: Callable[[SparkSession], T], waiting: Waiting) -> T:
        """Run work and wait for its result.

        Ctrl-C withdraws work that has not begun. For running work it cancels Spark's jobs and the tasks of this process
        until the work ends; a second Ctrl-C abandons the work. This thread never calls the JVM: Ctrl-C during a call
        would leave the call's answer to the next one.

        Raises:
            Interrupted: Ctrl-C.
        """
        answer = self.submit(work)
        try:
            self._wait(answer, waiting)
        except KeyboardInterrupt:
            self._stop(answer, waiting)
        return answer.result()

    def _wait(self, answer: Future[T], waiting: Waiting) -> None:
        while not answer.done():
            try:
                answer.exception(timeout=TICK)
            except TimeoutError:
                waiting.tick(self.ready)

    def _stop(self, answer: Future[T], waiting: Waiting) -> None:
        try:
            if not answer.cancel():
                waiting.stopping()
                if (session := self.ready) is not None:
                    threading.Thread(target=_cancel_jobs, args=(session, answer), daemon=True).start()
                wait([answer])
        except KeyboardInterrupt:
            self._jobs = queue.SimpleQueue()
            self._start_thread()
            raise Interrupted(abandoned=True) from None
        raise Interrupted(abandoned=False)

    def _start_thread(self) -> None:
        threading.Thread(target=_work, args=(self._jobs,), name="paimon-sql", daemon=True).start()


def _work(jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        jobs.get()()


def _cancel_jobs(session: SparkSession, answer: Future[T]) -> None:
    from paimon_sql.shell.engine.jobs import jobs_of

    jobs = jobs_of(session)
    # A statement may start several jobs in sequence, so cancel repeatedly.
    while not answer.done():
        for work in running():
            work.stop()
        jobs.cancel()
        wait([answer], timeout=TICK)


def complete(answer: Future[T], work: Callable[[], T]) -> None:
    """Run work and set its result or error, unless it was cancelled before."""
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)

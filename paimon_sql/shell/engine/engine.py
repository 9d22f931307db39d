"""The thread in which Spark starts and works, so that the prompt is there at once and Ctrl-C always answers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError, wait
from typing import Protocol, TypeVar

from pyspark.sql import SparkSession

from paimon_sql.storage.execution.progress import running

T = TypeVar("T")

TICK = 0.1
"""Seconds between two looks at the work that is waited for."""


class Interrupted(Exception):  # noqa: N818 - nothing is wrong
    """The user pressed Ctrl-C while a statement ran.

    ``abandoned`` says that the statement did not stop: it may still go on behind, and may still succeed.
    """

    def __init__(self, *, abandoned: bool) -> None:
        super().__init__("Interrupted.")
        self.abandoned = abandoned


class Waiting(Protocol):
    """Who is told, now and again, that work is waited for."""

    def tick(self, session: SparkSession | None) -> None:
        """Once every `TICK`; the session is None while Spark starts."""

    def stopping(self) -> None:
        """Once, when Ctrl-C was pressed and the work is asked to stop."""


class Engine:
    """One Spark session, and the thread that starts it and does everything it is asked.

    Args:
        start: makes the session; it is called at once, in the engine's thread.
    """

    def __init__(self, start: Callable[[], SparkSession]) -> None:
        self.session: Future[SparkSession] = Future()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._hire()
        self._jobs.put(lambda: _fulfil(self.session, start))

    @property
    def ready(self) -> SparkSession | None:
        """The session, None while Spark starts and where it could not."""
        return self.session.result() if self.session.done() and self.session.exception() is None else None

    def submit(self, work: Callable[[SparkSession], T]) -> Future[T]:
        """What the work will answer, behind all that was asked before."""
        answer: Future[T] = Future()
        # A session that did not start fails all work with its own error.
        self._jobs.put(lambda: _fulfil(answer, lambda: work(self.session.result())))
        return answer

    def run(self, work: Callable[[SparkSession], T], waiting: Waiting) -> T:
        """Do the work and wait for its answer.

        Ctrl-C takes back work that was not begun, and cancels Spark's jobs and the tasks of this process until begun
        work ends; pressed again, it leaves the work to itself. This thread never calls the JVM: Ctrl-C in the midst
        of a call would leave its answer behind for the next one.

        Raises:
            Interrupted: by Ctrl-C.
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
            self._hire()
            raise Interrupted(abandoned=True) from None
        raise Interrupted(abandoned=False)

    def _hire(self) -> None:
        threading.Thread(target=_work, args=(self._jobs,), name="paimon-sql", daemon=True).start()


def _work(jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        jobs.get()()


def _cancel_jobs(session: SparkSession, answer: Future[T]) -> None:
    # A statement may start one job after the other, so that once would not do.
    while not answer.done():
        for work in running():
            work.stop()
        session.sparkContext.cancelAllJobs()
        wait([answer], timeout=TICK)


def _fulfil(answer: Future[T], work: Callable[[], T]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)

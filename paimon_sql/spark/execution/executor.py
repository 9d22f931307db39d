"""Executor of plans' tasks, as Spark tasks or on the driver if they are small, and the errors of Python workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from py4j.protocol import Py4JError

from paimon_sql.errors import PaimonError
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.execution.task_executor import Executor, LocalExecutor, Work
from paimon_sql.storage.execution.threads import run_periodically

T = TypeVar("T")
R = TypeVar("R")
FEW_BYTES = 8 * 1024 * 1024
_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
_POLL_INTERVAL = 0.3


class SparkExecutor(Executor):
    """Runs tasks as one Spark job; tasks with a small total ``size`` (bytes) run on the driver.

    Jobs of watched work have its name in Spark's UI, and a job group of that name unless the session has set a group.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        if not tasks:
            return iter(())
        if sum(getattr(task, "size", 0) for task in tasks) <= FEW_BYTES:
            return LocalExecutor().watched(self.work).map(function, tasks)
        job = self._jvm.context.parallelize(tasks, len(tasks)).map(catching(function))
        if self.work is None:
            return results(job.collect())
        self.work.check()
        with self._named(self.work), self._counted(self.work, len(tasks)):
            answers = job.collect()
        return results(answers)

    @contextmanager
    def _named(self, work: Work) -> Iterator[None]:
        """Give jobs of this thread the work's name."""
        context = self._jvm.context
        before = {key: context.getLocalProperty(key) for key in (_GROUP, _DESCRIPTION)}
        if before[_GROUP] is None:
            context.setLocalProperty(_GROUP, work.what)
        context.setLocalProperty(_DESCRIPTION, work.what)
        try:
            yield
        finally:
            for key, value in before.items():
                context.setLocalProperty(key, value)  # null removes it

    @contextmanager
    def _counted(self, work: Work, tasks: int) -> Iterator[None]:
        """Report completed tasks to the work while they run, and all of them at the end."""
        group = self._jvm.context.getLocalProperty(_GROUP)
        known = set(self._jvm.context.statusTracker().getJobIdsForGroup(group))
        reported = 0

        def poll() -> None:
            nonlocal reported
            tracker, done = self._jvm.context.statusTracker(), 0
            try:
                for number in set(tracker.getJobIdsForGroup(group)) - known:
                    job = tracker.getJobInfo(number)
                    stages = [tracker.getStageInfo(stage) for stage in (job.stageIds if job else ())]
                    done += sum(stage.numCompletedTasks for stage in stages if stage)
            except (Py4JError, OSError):
                return  # Spark has stopped
            work.advance(min(done, tasks) - reported)
            reported = min(done, tasks)

        work.expect(tasks)
        try:
            with run_periodically(poll, _POLL_INTERVAL, "paimon-progress"):
                yield
        finally:
            work.advance(tasks - reported)


_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""PySpark checks this variable when it reports a worker's error to the JVM; the worker ends after that."""


@contextmanager
def hide_traceback() -> Iterator[None]:
    """Report a `PaimonError` of the block without a traceback, any other error with it."""
    try:
        yield
    except PaimonError:
        os.environ[_HIDE_TRACEBACK] = "1"
        raise


@dataclass(frozen=True)
class Failure:
    """A worker's answer that carries a `PaimonError`, so that the job succeeds and the driver can clean up after it."""

    error: PaimonError


def catching(function: Callable[[T], R]) -> Callable[[T], R | Failure]:
    """The function, with each `PaimonError` returned as a `Failure`."""

    def answer(task: T) -> R | Failure:
        try:
            return function(task)
        except PaimonError as error:
            return Failure(error)

    return answer


def results(answers: Sequence[R | Failure]) -> Iterator[R]:
    """Iterate over the successful answers, then raise the error of the first failure, if any."""
    yield from (answer for answer in answers if not isinstance(answer, Failure))
    failure = next((answer for answer in answers if isinstance(answer, Failure)), None)
    if failure is not None:
        raise failure.error

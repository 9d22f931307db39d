"""Plans' tasks as Spark tasks, unless there is so little to do that starting them would cost more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from py4j.protocol import Py4JError

from paimon_sql.spark.execution.worker_errors import answered, answering
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.execution.progress import Work
from paimon_sql.storage.execution.task_executor import Executor, LocalExecutor
from paimon_sql.storage.execution.threads import meanwhile

T = TypeVar("T")
R = TypeVar("R")
FEW_BYTES = 8 * 1024 * 1024
_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
_LOOK_EVERY = 0.3


class SparkExecutor(Executor):
    """Runs tasks as one Spark job; tasks that say they are small (``size`` in bytes) run on the driver.

    The jobs of watched work bear its name in Spark's UI, and belong to a group of that name unless the session has set
    one of its own.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        if not tasks:
            return iter(())
        if sum(getattr(task, "size", 0) for task in tasks) <= FEW_BYTES:
            return LocalExecutor().watched(self.work).map(function, tasks)
        job = self._jvm.context.parallelize(tasks, len(tasks)).map(answering(function))
        if self.work is None:
            return answered(job.collect())
        self.work.check()
        with self._named(self.work), self._counted(self.work, len(tasks)):
            answers = job.collect()
        return answered(answers)

    @contextmanager
    def _named(self, work: Work) -> Iterator[None]:
        """Let jobs of this thread bear the work's name."""
        context = self._jvm.context
        before = {key: context.getLocalProperty(key) for key in (_GROUP, _DESCRIPTION)}
        if before[_GROUP] is None:
            context.setLocalProperty(_GROUP, work.what)
        context.setLocalProperty(_DESCRIPTION, work.what)
        try:
            yield
        finally:
            for key, value in before.items():
                context.setLocalProperty(key, value)  # null forgets it

    @contextmanager
    def _counted(self, work: Work, tasks: int) -> Iterator[None]:
        """Tell the work of tasks as they are done, and in the end of all of them."""
        group = self._jvm.context.getLocalProperty(_GROUP)
        known = set(self._jvm.context.statusTracker().getJobIdsForGroup(group))
        told = 0

        def look() -> None:
            nonlocal told
            tracker, done = self._jvm.context.statusTracker(), 0
            try:
                for number in set(tracker.getJobIdsForGroup(group)) - known:
                    job = tracker.getJobInfo(number)
                    stages = [tracker.getStageInfo(stage) for stage in (job.stageIds if job else ())]
                    done += sum(stage.numCompletedTasks for stage in stages if stage)
            except (Py4JError, OSError):
                return  # Spark has gone
            work.advance(min(done, tasks) - told)
            told = min(done, tasks)

        work.expect(tasks)
        try:
            with meanwhile(look, _LOOK_EVERY, "paimon-progress"):
                yield
        finally:
            work.advance(tasks - told)

"""Plans' tasks as Spark tasks, unless there is so little to do that starting them would cost more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from paimon_sql.spark.java import Jvm
from paimon_sql.spark.worker_errors import Failure, answering
from paimon_sql.storage.executor import Executor, LocalExecutor

T = TypeVar("T")
R = TypeVar("R")
FEW_BYTES = 8 * 1024 * 1024


class SparkExecutor(Executor):
    """Runs tasks as one Spark job; tasks that say they are small (``size`` in bytes) run on the driver."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        if not tasks:
            return iter(())
        if sum(getattr(task, "size", 0) for task in tasks) <= FEW_BYTES:
            return LocalExecutor().map(function, tasks)
        answers = self._jvm.context.parallelize(tasks, len(tasks)).map(answering(function)).collect()
        return _results(answers)


def _results(answers: Sequence[R | Failure]) -> Iterator[R]:
    """What was answered, and behind it the first failure."""
    yield from (answer for answer in answers if not isinstance(answer, Failure))
    failure = next((answer for answer in answers if isinstance(answer, Failure)), None)
    if failure is not None:
        raise failure.error()

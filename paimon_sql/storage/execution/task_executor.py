"""Where the tasks of a plan run: here, in threads, or wherever else an engine brings them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from paimon_sql.storage.execution.progress import Work

T = TypeVar("T")
R = TypeVar("R")
E = TypeVar("E", bound="Executor")


class Executor(ABC):
    """Runs one function over many tasks.

    Attributes:
        work: is told how many tasks there are and are done; None where nobody asks.
    """

    work: Work | None = None

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """The function's results in the order of the tasks.

        An error of one ends the run: no more are begun, and when the results of those that were done have been handed
        out the error is raised, so that the caller can clean up behind them. So does work that is no longer wanted.

        Args:
            function: what to do with a task; it must be picklable, as the tasks and results are.
            tasks: the work.
        """

    def watched(self: E, work: Work | None) -> E:
        """The same executor, whose tasks are counted for some work."""
        other = copy.copy(self)
        other.work = work
        return other


class LocalExecutor(Executor):
    """Runs tasks in threads of this process: the heavy work is in Arrow's and NumPy's kernels, which run at once."""

    def __init__(self, threads: int = 2) -> None:
        self.threads = threads

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        self._check()
        if self.work is not None:
            function = _counted(function, self.work)
            self.work.expect(len(tasks))
        if len(tasks) < 2 or self.threads < 2:
            for task in tasks:
                yield function(task)
                self._check()
            return
        with ThreadPoolExecutor(min(self.threads, len(tasks))) as pool:
            futures = [pool.submit(function, task) for task in tasks]
            left = iter(futures)
            try:
                for future in left:
                    yield future.result()
                    self._check()
            except GeneratorExit:
                pool.shutdown(cancel_futures=True)
                raise
            except BaseException:
                pool.shutdown(cancel_futures=True)
                yield from (f.result() for f in left if not f.cancelled() and f.exception() is None)
                raise

    def _check(self) -> None:
        if self.work is not None:
            self.work.check()


def _counted(function: Callable[[T], R], work: Work) -> Callable[[T], R]:
    def run(task: T) -> R:
        answer = function(task)
        work.advance()
        return answer

    return run

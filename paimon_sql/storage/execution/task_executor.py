"""Executors: run the tasks of a plan, in local threads or on an engine's workers."""

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
    """Run one function over many tasks.

    Attributes:
        work: counts the tasks for progress; None without an observer.
    """

    work: Work | None = None

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the function's results in the order of the tasks.

        An error or a cancellation of the work stops the run: no further task starts, the results of the completed tasks
        are yielded, and then the error is raised, so that the caller can clean up what they wrote.

        Args:
            function: applied to each task; the function, the tasks and the results must be picklable.
            tasks: the tasks.
        """

    def watched(self: E, work: Work | None) -> E:
        """Return a copy of this executor that counts its tasks for `work`."""
        other = copy.copy(self)
        other.work = work
        return other


class LocalExecutor(Executor):
    """Run tasks in threads of this process: most time is spent in kernels of Arrow and NumPy, which release the GIL."""

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

"""Execution of tasks: executors in local threads or on an engine's workers, progress and cancellation."""

from __future__ import annotations

import copy
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from operator import methodcaller
from typing import Protocol, TypeVar

from paimon_sql.errors import CancelledError
from paimon_sql.process import share

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")
Result = TypeVar("Result", covariant=True)
E = TypeVar("E", bound="Executor")


class Task(Protocol[Result]):
    """A part of a plan; it and its result can be pickled."""

    def run(self) -> Result:
        """Do the work."""


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

    def run(self, tasks: Sequence[Task[R]]) -> Iterator[R]:
        """Yield the results of tasks, as `map`."""
        return self.map(methodcaller("run"), tasks)

    def run_shares(
        self, items: Sequence[A], task_of: Callable[[Sequence[A]], Task[R]], min_items: int, tasks: int | None = None
    ) -> Iterator[R]:
        """Yield the results of the tasks that get shares of all items, in order; the sizes are of `items_per_task`."""
        step = items_per_task(len(items), tasks, min_items)
        return self.run([task_of(items[at : at + step]) for at in range(0, len(items), step)])

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
            function = partial(_counted, function, self.work)
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


def _counted(function: Callable[[T], R], work: Work, task: T) -> R:
    answer = function(task)
    work.advance()
    return answer


_MAX_TASKS = 256


def items_per_task(items: int, tasks: int | None, min_items: int) -> int:
    """Return the number of items per task.

    Args:
        items: number of items.
        tasks: wanted number of tasks; None derives it from the number of items.
        min_items: minimum number of items per task if `tasks` is None.
    """
    wanted = tasks or min(_MAX_TASKS, -(-items // min_items))
    return max(1, -(-items // max(1, wanted)))


class Work:
    """One piece of work: executors count their tasks in it, and check whether it was cancelled.

    The code that does the work registers it; shells and notebooks observe it, without knowing each other. Counting is
    cheap enough to be always on.

    Args:
        what: description of the work.
        is_cancelled: called by the thread that does the work.

    Attributes:
        what: description of the work, such as ``CALL sys.compact db.t``.
        done: number of completed tasks.
        total: number of tasks known so far.
        since: start time, in seconds of the monotonic clock.
    """

    def __init__(self, what: str, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        self.what = what
        self.done = 0
        self.total = 0
        self.since = time.monotonic()
        self._lock = threading.Lock()
        self._is_cancelled = is_cancelled
        self._is_stopped = False

    def stop(self) -> None:
        """Cancel the work before its next task; may be called by any thread."""
        self._is_stopped = True

    def check(self) -> None:
        """Raise `CancelledError` if the work was cancelled."""
        if self._is_stopped or self._is_cancelled():
            raise CancelledError(f"{self.what} was cancelled.")

    def expect(self, tasks: int) -> None:
        """Add tasks to the total."""
        with self._lock:
            self.total += tasks

    def advance(self, tasks: int = 1) -> None:
        """Add completed tasks."""
        with self._lock:
            self.done += tasks


_running = share(list[Work])


@contextmanager
def register_work(what: str, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[Work]:
    """Register work until the block ends; the arguments are those of `Work`."""
    work, works = Work(what, is_cancelled), _running()
    works.append(work)
    try:
        yield work
    finally:
        works.remove(work)


def running() -> list[Work]:
    """Return the registered work, oldest first."""
    return list(_running())

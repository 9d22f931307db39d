"""Where the tasks of a plan run: here, in threads, or wherever else an engine brings them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Executor(ABC):
    """Runs one function over many tasks."""

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """The function's results in the order of the tasks; the first error ends the run.

        Args:
            function: what to do with a task; it must be picklable, as the tasks and results are.
            tasks: the work.
        """


class LocalExecutor(Executor):
    """Runs tasks in threads of this process: the heavy work is in Arrow's and NumPy's kernels, which run at once."""

    def __init__(self, threads: int = 2) -> None:
        self.threads = threads

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        if len(tasks) < 2 or self.threads < 2:
            yield from map(function, tasks)
            return
        with ThreadPoolExecutor(min(self.threads, len(tasks))) as pool:
            yield from pool.map(function, tasks)

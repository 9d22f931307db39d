"""What the threads of a process share: caches, connections, file systems, background threads, metrics.

Each part is made on its first use, and again in a forked child, which must not use its parent's: locks may be held by
threads that do not exist in the child, and connections carry the parent's requests.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

from paimon_sql.cache import Cache

T = TypeVar("T")


class Shared(Generic[T]):
    """One part of a process; calling it returns the part, the same one to all threads.

    Args:
        process: the process.
        make: makes the part, which is not None; may use other parts.
        leave: called in a forked child with the parent's part, which is then dropped.
    """

    def __init__(self, process: Process, make: Callable[[], T], leave: Callable[[T], object] | None) -> None:
        self._process = process
        self._make = make
        self.leave = leave
        self.part: T | None = None

    def __call__(self) -> T:
        part = self.part
        if part is None:
            with self._process.lock:
                if self.part is None:
                    self.part = self._make()
                return self.part
        return part


class Process:
    """All that this process shares.

    Attributes:
        lock: held while a part is made.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._shared: list[Shared[object]] = []
        if hasattr(os, "register_at_fork"):  # Windows has no forks
            os.register_at_fork(after_in_child=self._after_fork)

    def share(self, make: Callable[[], T], *, leave: Callable[[T], object] | None = None) -> Shared[T]:
        """Declare a part; the arguments are those of `Shared`."""
        shared = Shared(self, make, leave)
        self._shared.append(cast("Shared[object]", shared))  # each is left with its own part
        return shared

    def clear_caches(self) -> None:
        """Drop all cached values: this process then knows no more than a new one."""
        for shared in self._shared:
            if isinstance(shared.part, Cache):
                shared.part.clear()

    def _after_fork(self) -> None:
        self.lock = threading.RLock()
        inherited = [(shared.leave, shared.part) for shared in self._shared if shared.part is not None]
        for shared in self._shared:
            shared.part = None
        for leave, part in inherited:
            if isinstance(part, Cache):
                part.unlock()
            if leave is not None:
                leave(part)


PROCESS = Process()
share = PROCESS.share


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Pause Python's search for unreachable cycles while very many objects are made, which it would visit repeatedly.

    Other threads' cycles wait as well; an overlapping pause may end early, which only costs time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

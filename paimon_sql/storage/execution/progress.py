"""Long work that goes on in this process, counted in tasks, for whoever wants to show it.

Work is begun by whoever does it and looked at by shells and notebooks: neither knows the other. Counting costs next to
nothing, so that it is always done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paimon_sql.errors import CancelledError


class Work:
    """One piece of work; executors tell it of their tasks, and ask whether it is still wanted.

    Args:
        what: what is done.
        is_cancelled: asked by the thread that does the work.

    Attributes:
        what: what is done, such as ``CALL sys.compact db.t``.
        done: how many tasks are done.
        total: how many there are, as far as is known.
        since: when it began, in seconds of the monotonic clock.
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
        """Let it end before its next task; any thread may say so."""
        self._is_stopped = True

    def check(self) -> None:
        """Raise CancelledError if the work is no longer wanted."""
        if self._is_stopped or self._is_cancelled():
            raise CancelledError(f"{self.what} was cancelled.")

    def expect(self, tasks: int) -> None:
        """So many tasks more are to be done."""
        with self._lock:
            self.total += tasks

    def advance(self, tasks: int = 1) -> None:
        """So many of them are done."""
        with self._lock:
            self.done += tasks


_running: list[Work] = []
_lock = threading.Lock()


@contextmanager
def begun(what: str, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[Work]:
    """Work that goes on until the block is left; the arguments are those of `Work`."""
    work = Work(what, is_cancelled)
    with _lock:
        _running.append(work)
    try:
        yield work
    finally:
        with _lock:
            _running.remove(work)


def running() -> list[Work]:
    """The work that goes on now, the oldest first."""
    with _lock:
        return list(_running)

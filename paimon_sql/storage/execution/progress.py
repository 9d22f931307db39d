"""Progress and cancellation of long work in this process, counted in tasks.

The code that does the work registers it; shells and notebooks observe it, without knowing each other. Counting is cheap
enough to be always on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paimon_sql.errors import CancelledError


class Work:
    """One piece of work: executors count their tasks in it, and check whether it was cancelled.

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


_running: list[Work] = []
_lock = threading.Lock()


@contextmanager
def register_work(what: str, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[Work]:
    """Register work until the block ends; the arguments are those of `Work`."""
    work = Work(what, is_cancelled)
    with _lock:
        _running.append(work)
    try:
        yield work
    finally:
        with _lock:
            _running.remove(work)


def running() -> list[Work]:
    """Return the registered work, oldest first."""
    with _lock:
        return list(_running)

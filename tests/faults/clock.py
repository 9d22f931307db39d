"""Virtual time: every party of a round has a clock of its own, and a pause lets the others go on at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_REAL_TIME, _REAL_SLEEP, _REAL_MONOTONIC = time.time, time.sleep, time.monotonic


class Clock:
    """The time of a round, in seconds; it moves by steps and by jumps alone.

    Args:
        start: the time since the epoch at which the round begins.
    """

    def __init__(self, start: float) -> None:
        self._start = start
        self.elapsed = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed += seconds

    def now(self, skew: float = 0.0) -> float:
        """The time since the epoch by a clock that is wrong by ``skew`` seconds."""
        return self._start + self.elapsed + skew


@contextmanager
def patched_time(
    now: Callable[[], float], monotonic: Callable[[], float], sleep: Callable[[float], None]
) -> Iterator[None]:
    """Let the functions of `time` that the product calls answer from a virtual clock."""
    time.time, time.monotonic, time.sleep = now, monotonic, sleep  # type: ignore[assignment]
    try:
        yield
    finally:
        time.time, time.monotonic, time.sleep = _REAL_TIME, _REAL_MONOTONIC, _REAL_SLEEP


def real_monotonic() -> float:
    """Seconds of the machine's clock, whatever is patched."""
    return _REAL_MONOTONIC()

"""What goes wrong in Spark's tasks; workers import this module, so it imports nothing of the model."""

from __future__ import annotations

import time

from pyspark import TaskContext

_SLOW = 0.3


def harmed(number: int) -> int:
    """The number itself; in the first attempt at a task every other one fails at it, and some are slow."""
    context = TaskContext.get()
    if context is not None and context.attemptNumber() == 0:
        if (context.partitionId() + number) % 2 == 0:
            raise RuntimeError("injected: the task fails")
        time.sleep(_SLOW)
    return number

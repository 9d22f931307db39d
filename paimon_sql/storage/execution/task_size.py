"""Sizes of tasks."""

from __future__ import annotations

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

"""How much work a task gets."""

from __future__ import annotations

_MOST_TASKS = 256


def share(items: int, tasks: int | None, least: int) -> int:
    """How many items a task gets.

    Args:
        items: how many there are.
        tasks: how many tasks are wanted; None leaves it to their number.
        least: the fewest items that are worth a task of their own, where it is left so.
    """
    wanted = tasks or min(_MOST_TASKS, -(-items // least))
    return max(1, -(-items // max(1, wanted)))

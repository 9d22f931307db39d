"""Pieces of work put together until each group is about as big as wished."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def pack(items: Iterable[T], weight: Callable[[T], int], target: int, least: int = 0) -> list[list[T]]:
    """The items in groups, their order kept.

    Args:
        items: what to group.
        weight: an item's size.
        target: a group is closed before it would grow beyond this.
        least: what an item counts at the least, as opening a file costs something however small it is.
    """
    groups: list[list[T]] = []
    filled = 0
    for item in items:
        size = max(weight(item), least)
        if not groups or filled + size > target:
            groups.append([])
            filled = 0
        groups[-1].append(item)
        filled += size
    return groups

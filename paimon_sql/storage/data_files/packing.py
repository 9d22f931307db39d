"""Packing of items into groups of a target size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def pack(items: Iterable[T], weight: Callable[[T], int], target: int, least: int = 0) -> list[list[T]]:
    """Group items in order.

    Args:
        items: the items.
        weight: returns the size of an item.
        target: max size of a group with more than one item.
        least: min size of an item, as opening a file has a fixed cost.
    """
    groups: list[list[T]] = []
    group_size = 0
    for item in items:
        size = max(weight(item), least)
        if not groups or group_size + size > target:
            groups.append([])
            group_size = 0
        groups[-1].append(item)
        group_size += size
    return groups

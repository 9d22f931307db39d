"""Many small file operations shared among threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def spread(function: Callable[[A], R], items: Sequence[A], threads: int) -> list[R]:
    """The function's result for each item, in order; each thread takes its share of the items one after the other.

    Handing every item over by itself costs more than a small file on a disk does.

    Args:
        function: what is done.
        items: what it is done to.
        threads: how many threads do it; fewer than two are the caller's own.
    """
    threads = min(threads, len(items))
    if threads < 2:
        return [function(item) for item in items]
    found: list[list[R]] = []
    with ThreadPoolExecutor(threads) as pool:
        found.extend(pool.map(lambda first: [function(item) for item in items[first::threads]], range(threads)))
    return [found[i % threads][i // threads] for i in range(len(items))]

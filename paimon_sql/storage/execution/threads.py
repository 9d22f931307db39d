"""Threads: many small file operations shared among some, and one that looks on while work is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


@contextmanager
def meanwhile(action: Callable[[], object], every: float, name: str) -> Iterator[None]:
    """Do something again and again beside the work inside, which has ended when nothing more is done.

    Args:
        action: what is done.
        every: the seconds from one time to the next.
        name: the thread's name.
    """
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(every):
            action()

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

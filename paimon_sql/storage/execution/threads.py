"""Threads: parallel file operations, and a periodic background action."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def map_in_threads(function: Callable[[A], R], items: Sequence[A], threads: int) -> list[R]:
    """Return the function's result for each item, in order; each thread processes its share sequentially.

    Submitting items one by one would cost more than a small file on a disk does.

    Args:
        function: the function to apply.
        items: its arguments.
        threads: the number of threads; with fewer than two, the caller's thread does the work.
    """
    threads = min(threads, len(items))
    if threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda first: [function(item) for item in items[first::threads]], range(threads)))
    return [results[i % threads][i // threads] for i in range(len(items))]


@contextmanager
def run_periodically(action: Callable[[], object], every: float, name: str) -> Iterator[None]:
    """Repeat an action in a thread while the block runs; on exit the thread has ended.

    Args:
        action: the action.
        every: seconds between two runs.
        name: name of the thread.
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

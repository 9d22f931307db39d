"""Threads: parallel file operations and reads, and a periodic background action."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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


_POLL = 0.1
"""Seconds after which a blocked thread looks whether its reader has ended."""


def merged_in_threads(sources: Sequence[Callable[[], Iterable[R]]], threads: int) -> Iterator[R]:
    """Yield the items of several sources as they come, those of one source in its order.

    Threads are at most two items each ahead of the consumer. When the iterator is closed, they end after their current
    item.

    Args:
        sources: each is called and iterated by one thread.
        threads: the number of threads; with fewer than two, the caller's thread iterates all.
    """
    threads = min(threads, len(sources))
    if threads < 2:
        for source in sources:
            yield from source()
        return
    ready: queue.Queue[tuple[R | None, BaseException | None, bool]] = queue.Queue(2 * threads)
    over = threading.Event()

    def put(item: R | None, error: BaseException | None = None, *, is_end: bool = False) -> None:
        while not over.is_set():
            with suppress(queue.Full):
                ready.put((item, error, is_end), timeout=_POLL)
                return

    def iterate(source: Callable[[], Iterable[R]]) -> None:
        try:
            for item in source():
                put(item)
                if over.is_set():
                    return
        except BaseException as error:
            put(None, error)
        put(None, is_end=True)

    with ThreadPoolExecutor(threads, thread_name_prefix="paimon-read") as pool:
        try:
            for source in sources:
                pool.submit(iterate, source)
            running = len(sources)
            while running:
                item, error, is_end = ready.get()
                if error is not None:
                    raise error
                if is_end:
                    running -= 1
                else:
                    yield item  # type: ignore[misc]
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)


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

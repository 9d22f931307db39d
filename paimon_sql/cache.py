"""The bounded cache of all values that are kept for reuse."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """A thread-safe cache of the most recently used values, bounded by their total weight.

    Args:
        capacity: the max total weight. A value that weighs more is not stored.
        weigh: the weight of a value; by default 1, so that the capacity is a number of values.
        holds: whether a value can still be used; by default forever. One that cannot is dropped.
        leave: ends the use of a value that is dropped, such as closing it; must not use the cache.
    """

    def __init__(
        self,
        capacity: int,
        *,
        weigh: Callable[[V], int] = lambda value: 1,
        holds: Callable[[V], bool] | None = None,
        leave: Callable[[V], object] | None = None,
    ) -> None:
        self.capacity = capacity
        self._weigh = weigh
        self._holds = holds
        self._leave = leave
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()
        self._turns: dict[K, threading.RLock] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> list[tuple[K, V]]:
        """Return the keys and values, the least recently used first."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._entries.items()]

    def values(self) -> list[V]:
        """Return the values, the least recently used first."""
        return [value for _, value in self.items()]

    def get(self, key: K) -> V | None:
        """Return the value of a key; None if it is not cached."""
        with self._lock:
            return self._get(key)

    def put(self, key: K, value: V) -> None:
        """Store a value, and drop the least recently used ones over the capacity."""
        weight = self._weigh(value)
        with self._lock:
            self._put(key, value, weight)

    def compute(self, key: K, make: Callable[[], V], *, once: bool = True) -> V:
        """Return the value of a key; a missing one is made and stored.

        Args:
            key: the key.
            make: makes the value, which is not None; may use the cache.
            once: whether one thread makes it while others wait; otherwise each makes its own, and the last one stays.
        """
        with self._lock:
            found = self._get(key)
            if found is not None:
                return found
            turn = self._turns.setdefault(key, threading.RLock()) if once else nullcontext()
        try:
            with turn:
                found = self.get(key)
                if found is None:
                    found = make()
                    self.put(key, found)
                return found
        finally:
            with self._lock:
                self._turns.pop(key, None)

    def change(self, key: K, change: Callable[[V | None], V | None]) -> None:
        """Replace a value by one that is computed from it, atomically; None stands for no value."""
        with self._lock:
            value = change(self._get(key))
            if value is None:
                self._drop(key)
            else:
                self._put(key, value, self._weigh(value))

    def purge(self) -> None:
        """Drop the values that cannot be used any more."""
        with self._lock:
            for key in list(self._entries):
                self._get(key)

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            for key in list(self._entries):
                self._drop(key)

    def unlock(self) -> None:
        """Free the lock in a forked child, where the thread that may have held it does not exist."""
        self._lock = threading.Lock()

    def _get(self, key: K) -> V | None:
        found = self._entries.get(key)
        if found is None:
            return None
        if self._holds is not None and not self._holds(found[0]):
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return found[0]

    def _put(self, key: K, value: V, weight: int) -> None:
        self._drop(key)
        if weight > self.capacity:
            return
        self._entries[key] = value, weight
        self._weight += weight
        while self._weight > self.capacity:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: K) -> None:
        found = self._entries.pop(key, None)
        if found is None:
            return
        self._weight -= found[1]
        if self._leave is not None:
            self._leave(found[0])

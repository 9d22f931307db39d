"""Cache of vended credentials in a process, until their renewal."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

_MAX_VALUES = 1000


class Vended(Protocol):
    """A value that expires."""

    def holds(self) -> bool:
        """Whether it can still be used."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Vended)


class Expiring(Generic[K, V]):
    """A cache of expiring values by provider; when it is full, the oldest values are dropped first."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)

    def get(self, provider: K, request: Callable[[], V]) -> V:
        """The value of a provider, requested anew if it has expired; requests do not block other callers."""
        with self._lock:
            value = self._values.get(provider)
        if value is not None and value.holds():
            return value
        value = request()
        with self._lock:
            self._values[provider] = value
            self._values.move_to_end(provider)
            while len(self._values) > _MAX_VALUES:
                self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()

    def _renew_lock(self) -> None:
        # A thread of the parent process may have held it.
        self._lock = threading.Lock()

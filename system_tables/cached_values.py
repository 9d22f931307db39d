"""Columns that never change, remembered by what they are columns of."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

import pyarrow as pa

_BYTES = 64 << 20


class RememberedColumns:
    """The columns that were asked for last, bounded by their bytes; safe to be used by several threads.

    Args:
        capacity: how many bytes are held at most.
    """

    def __init__(self, capacity: int = _BYTES) -> None:
        self.capacity = capacity
        self._held: OrderedDict[Hashable, pa.Array] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], pa.Array]) -> pa.Array:
        """A column; it is made if it is not held.

        Args:
            key: what tells it from all others, and from what it was before anything changed.
            make: works it out.
        """
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            if key not in self._held and made.nbytes <= self.capacity:
                self._held[key] = made
                self._bytes += made.nbytes
            while self._bytes > self.capacity:
                self._bytes -= self._held.popitem(last=False)[1].nbytes
        return made

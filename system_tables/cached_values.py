"""Cache of immutable columns."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

import pyarrow as pa

_BYTES = 64 << 20


class ColumnCache:
    """A thread-safe LRU cache of columns, bounded by bytes.

    Args:
        capacity: the max number of bytes.
    """

    def __init__(self, capacity: int = _BYTES) -> None:
        self.capacity = capacity
        self._cached: OrderedDict[Hashable, pa.Array] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], pa.Array]) -> pa.Array:
        """A column from the cache, or from ``make``.

        Args:
            key: identifies the column and its version.
            make: computes the column.
        """
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        column = make()
        with self._lock:
            if key not in self._cached and column.nbytes <= self.capacity:
                self._cached[key] = column
                self._bytes += column.nbytes
            while self._bytes > self.capacity:
                self._bytes -= self._cached.popitem(last=False)[1].nbytes
        return column

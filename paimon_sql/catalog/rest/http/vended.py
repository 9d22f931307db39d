"""What servers lend for a while: held as long as it is good, by all who use it in this process."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

_MOST = 1000


class Vended(Protocol):
    """Something that ends."""

    def holds(self) -> bool:
        """Whether it can still be used."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Vended)


class Expiring(Generic[K, V]):
    """What was lent, by those who lend it; bounded by their number, those that lent longest ago leave first."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)

    def get(self, lender: K, ask: Callable[[], V]) -> V:
        """What a lender lent, asked for anew if it no longer holds; nobody waits while another asks."""
        with self._lock:
            held = self._values.get(lender)
        if held is not None and held.holds():
            return held
        held = ask()
        with self._lock:
            self._values[lender] = held
            self._values.move_to_end(lender)
            while len(self._values) > _MOST:
                self._values.popitem(last=False)
        return held

    def clear(self) -> None:
        """Let everything be asked for anew."""
        with self._lock:
            self._values.clear()

    def _renew_lock(self) -> None:
        # A thread of the process that forked may have held it.
        self._lock = threading.Lock()

"""Ctrl-C at any moment of a statement, but at none of the model's own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_allowed = False
_deferred = 0
_waiting = False


def install() -> None:
    """Let SIGINT raise `KeyboardInterrupt` where it is `allowed`, and do nothing elsewhere."""
    signal.signal(signal.SIGINT, _arrived)


def _arrived(*_: object) -> None:
    global _waiting
    if _allowed and _deferred:
        _waiting = True
    elif _allowed:
        raise KeyboardInterrupt


@contextmanager
def allowed() -> Iterator[None]:
    """A block that an interrupt may end."""
    global _allowed, _waiting
    _waiting = False
    try:
        _allowed = True
        yield
    finally:
        _allowed = False


@contextmanager
def deferred() -> Iterator[None]:
    """Keep interrupts back until the block ends; signals reach the main thread alone."""
    global _deferred, _waiting
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _deferred += 1
    try:
        yield
    finally:
        _deferred -= 1
        raised = _waiting and not _deferred
        _waiting = _waiting and not raised
    if raised:
        raise KeyboardInterrupt

"""Values of a statement that nobody is to see: Spark shows the CALL that carries it, in EXPLAIN, its UI and its logs.

They stay in this process, and the CALL holds what they are found by.
"""

from __future__ import annotations

import hashlib
import os

_SALT = os.urandom(16)
_KEPT: dict[str, str] = {}


def keep(value: str) -> str:
    """What the value is found by again in this process, and which tells nothing of it."""
    key = f"kept-{hashlib.blake2b(value.encode('utf-8', 'surrogatepass'), key=_SALT, digest_size=12).hexdigest()}"
    _KEPT[key] = value
    return key


def kept(text: str) -> str:
    """The value that was kept under a text; one that was not is itself."""
    return _KEPT.get(text, text)

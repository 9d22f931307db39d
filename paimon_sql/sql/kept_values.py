"""Values of a statement that nobody is to see: Spark shows statements in EXPLAIN, its UI and its logs.

Those that a CALL would carry stay in this process, and the CALL holds what they are found by.
"""

from __future__ import annotations

import hashlib
import os
import re

SECRET_NAMES = r"(?i)(secret|password|token|access[.-]?key|credential|account[.]key)"
"""What names of settings hold whose values are secret: Spark's own words, and a few more that catalogs have."""

SECRETS = SECRET_NAMES + r"""[\w.-]*['"`]?\s*=\s*('(?:[^']|'')*'|"(?:[^"]|"")*")"""
"""What is secret in a statement, as a pattern of Python's and Java's: the end of an option's name, and its value."""
_SECRETS = re.compile(SECRETS)
_SALT = os.urandom(16)
_KEPT: dict[str, str] = {}


def without_secrets(text: str) -> str:
    """The text of a statement as it may be shown."""
    return _SECRETS.sub("*********(redacted)", text)


def keep(value: str) -> str:
    """What the value is found by again in this process, and which tells nothing of it."""
    key = f"kept-{hashlib.blake2b(value.encode('utf-8', 'surrogatepass'), key=_SALT, digest_size=12).hexdigest()}"
    _KEPT[key] = value
    return key


def kept(text: str) -> str:
    """The value that was kept under a text; one that was not is itself."""
    return _KEPT.get(text, text)

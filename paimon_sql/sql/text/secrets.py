"""Secret values in statements: Spark shows statements in EXPLAIN, its UI and its logs.

Secrets of a carried statement stay in this process; the CALL holds references to them.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

from paimon_sql.cache import Cache
from paimon_sql.errors import InvalidInputError
from paimon_sql.process import share

SECRET_NAMES = r"(?i)(secret|password|token|access[.-]?key|credential|account[.]key)"
"""Parts of the names of settings with secret values: those of Spark (`spark.redaction.regex`), and of catalogs."""

# Up to the next of these words only, so that a name that repeats them is not matched again from each.
_END_OF_NAME = SECRET_NAMES + SECRET_NAMES.replace("(?i)(", "(?:(?!").replace(")", r")[\w.-])*")
_SECRETS = (
    _END_OF_NAME + r"""['"`]?(?:\s*=\s*|\s+)(?:'(?:[^'\\]|\\[\s\S]?|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]?|"")*(?:"|$))"""
)
"""Secrets in a statement: the end of an option's name, and its value, up to the end of the text if unclosed."""
SECRETS_IN_JAVA = _SECRETS.replace(")*", ")*+")
"""The same for Java, where repeated groups take a stack frame per repetition unless they are possessive."""
_PATTERN = re.compile(_SECRETS)
_UNQUOTED = re.compile(_END_OF_NAME + r"""['"`]?\s*=>?\s*[^\s'"`*][^\s&]*""")
_REDACTED = "*********(redacted)"
_SALT = os.urandom(16)
_REFERENCE = re.compile(r"kept-[0-9a-f]{24}")


def without_secrets(text: str) -> str:
    """Redact the secrets of a statement."""
    return _PATTERN.sub(_REDACTED, text)


def without_any_secrets(text: str) -> str:
    """As `without_secrets`, and values without quotes: of SET, and in URLs. It may redact a comparison of columns."""
    return _UNQUOTED.sub(_REDACTED, without_secrets(text))


class SecretStore:
    """Secret values between the parsing and the execution of their statements, by references that reveal nothing.

    A value is removed when its statements have run. Values of statements that never run (EXPLAIN, errors) expire, and
    the oldest is evicted from a full store.

    Args:
        most: the max number of values.
        seconds: time to live of a value.
    """

    def __init__(self, most: int = 1024, seconds: float = 600.0) -> None:
        self._seconds = seconds
        self._values = Cache[str, _Secret](most, holds=lambda secret: time.monotonic() - secret.since < seconds)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __len__(self) -> int:
        return len(self._values)

    def store(self, value: str) -> str:
        """Store a value for one more statement; returns its reference, valid in this process."""
        digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), key=_SALT, digest_size=12).hexdigest()
        reference, now = f"kept-{digest}", time.monotonic()
        self._values.change(reference, lambda old: _Secret(value, old.statements + 1 if old else 1, now))
        self._expire_later()
        return reference

    def resolve(self, text: str) -> str:
        """The value of a reference; other text is returned unchanged.

        Raises:
            InvalidInputError: the value has expired.
        """
        found = self._values.get(text)
        if found is not None:
            return found.value
        if _REFERENCE.fullmatch(text):
            raise InvalidInputError("The secret values of this statement have expired.", remedy="Run it again.")
        return text

    def release(self, references: Iterable[str]) -> None:
        """Remove the values of a statement that has run, unless other statements need them."""
        for reference in references:
            self._values.change(reference, _released)

    def _expire_later(self) -> None:
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._seconds, self._expire)
                self._timer.daemon = True
                self._timer.start()

    def _expire(self) -> None:
        with self._lock:
            self._timer = None
        self._values.purge()
        if len(self._values):
            self._expire_later()


class _Secret(NamedTuple):
    value: str
    statements: int
    since: float


def _released(secret: _Secret | None) -> _Secret | None:
    return secret._replace(statements=secret.statements - 1) if secret and secret.statements > 1 else None


secret_store = share(SecretStore)
"""The secrets of this process."""

"""Secret values in statements: Spark shows statements in EXPLAIN, its UI and its logs.

Secrets of a carried statement stay in this process; the CALL holds references to them.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from paimon_sql.errors import InvalidInputError

SECRET_NAMES = r"(?i)(secret|password|token|access[.-]?key|credential|account[.]key)"
"""Parts of the names of settings with secret values: those of Spark (`spark.redaction.regex`), and of catalogs."""

_SECRETS = (
    SECRET_NAMES
    # Up to the next of these words only, so that a name that repeats them is not matched again from each.
    + SECRET_NAMES.replace("(?i)(", "(?:(?!").replace(")", r")[\w.-])*")
    + r"""['"`]?(?:\s*=\s*|\s+)(?:'(?:[^'\\]|\\[\s\S]?|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]?|"")*(?:"|$))"""
)
"""Secrets in a statement: the end of an option's name, and its value, up to the end of the text if unclosed."""
SECRETS_IN_JAVA = _SECRETS.replace(")*", ")*+")
"""The same for Java, where repeated groups take a stack frame per repetition unless they are possessive."""
_PATTERN = re.compile(_SECRETS)
_SALT = os.urandom(16)
_REFERENCE = re.compile(r"kept-[0-9a-f]{24}")


def without_secrets(text: str) -> str:
    """Redact the secrets of a statement."""
    return _PATTERN.sub("*********(redacted)", text)


class SecretStore:
    """Secret values between the parsing and the execution of their statements, by references that reveal nothing.

    A value is removed when its statements have run. Values of statements that never run (EXPLAIN, errors) expire, and
    the oldest is evicted from a full store.

    Args:
        most: the max number of values.
        seconds: time to live of a value.
    """

    def __init__(self, most: int = 1024, seconds: float = 600.0) -> None:
        self._max_values = most
        self._seconds = seconds
        self._values: OrderedDict[str, _Secret] = OrderedDict()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __len__(self) -> int:
        return len(self._values)

    def store(self, value: str) -> str:
        """Store a value for one more statement; returns its reference, valid in this process."""
        digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), key=_SALT, digest_size=12).hexdigest()
        reference = f"kept-{digest}"
        with self._lock:
            statements = self._values.pop(reference, _NONE).statements
            self._values[reference] = _Secret(value, statements + 1, time.monotonic())
            if len(self._values) > self._max_values:
                self._values.popitem(last=False)
            self._expire_later()
        return reference

    def resolve(self, text: str) -> str:
        """The value of a reference; other text is returned unchanged.

        Raises:
            InvalidInputError: the value has expired.
        """
        with self._lock:
            found = self._values.get(text)
        if found is not None:
            return found.value
        if _REFERENCE.fullmatch(text):
            raise InvalidInputError("The secret values of this statement have expired.", remedy="Run it again.")
        return text

    def release(self, references: Iterable[str]) -> None:
        """Remove the values of a statement that has run, unless other statements need them."""
        with self._lock:
            for reference in references:
                found = self._values.get(reference)
                if found is not None and found.statements > 1:
                    self._values[reference] = found._replace(statements=found.statements - 1)
                elif found is not None:
                    del self._values[reference]

    def _expire_later(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(self._seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def _expire(self) -> None:
        with self._lock:
            self._timer = None
            oldest = time.monotonic() - self._seconds
            for reference in [r for r, secret in self._values.items() if secret.since <= oldest]:
                del self._values[reference]
            if self._values:
                self._expire_later()


class _Secret(NamedTuple):
    value: str
    statements: int
    since: float


_NONE = _Secret("", 0, 0.0)
_STORE = SecretStore()
keep, kept, release = _STORE.store, _STORE.resolve, _STORE.release

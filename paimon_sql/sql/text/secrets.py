"""Values of a statement that nobody is to see: Spark shows statements in EXPLAIN, its UI and its logs.

Those that a CALL would carry stay in this process, and the CALL holds what they are found by.
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
"""What names of settings hold whose values are secret: Spark's own words, and a few more that catalogs have."""

_SECRETS = (
    SECRET_NAMES
    # Up to the next of these words only: a name that repeats them is read once, and not from each anew.
    + SECRET_NAMES.replace("(?i)(", "(?:(?!").replace(")", r")[\w.-])*")
    + r"""['"`]?(?:\s*=\s*|\s+)(?:'(?:[^'\\]|\\[\s\S]?|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]?|"")*(?:"|$))"""
)
"""What is secret in a statement: the end of an option's name, and its value, to the end of the text if it is open."""
SECRETS_IN_JAVA = _SECRETS.replace(")*", ")*+")
"""The same for Java, whose repeated groups take a frame of the stack each time unless they are possessive."""
_PATTERN = re.compile(_SECRETS)
_SALT = os.urandom(16)
_REFERENCE = re.compile(r"kept-[0-9a-f]{24}")


def without_secrets(text: str) -> str:
    """The text of a statement as it may be shown."""
    return _PATTERN.sub("*********(redacted)", text)


class SecretStore:
    """Secret values between the parsing of a statement and its run, by references that reveal nothing of them.

    A value leaves when the statements that brought it have run. Those of statements that never run (EXPLAIN, errors)
    leave after a time, and the oldest where there are too many.

    Args:
        most: how many values it holds at most.
        seconds: how long a value waits for its statement to run.
    """

    def __init__(self, most: int = 1024, seconds: float = 600.0) -> None:
        self._most = most
        self._seconds = seconds
        self._values: OrderedDict[str, _Secret] = OrderedDict()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __len__(self) -> int:
        return len(self._values)

    def keep(self, value: str) -> str:
        """Hold a value for one more statement; returns the reference that stands for it in this process."""
        digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), key=_SALT, digest_size=12).hexdigest()
        reference = f"kept-{digest}"
        with self._lock:
            statements = self._values.pop(reference, _NONE).statements
            self._values[reference] = _Secret(value, statements + 1, time.monotonic())
            if len(self._values) > self._most:
                self._values.popitem(last=False)
            self._expire_later()
        return reference

    def kept(self, text: str) -> str:
        """The value that a reference stands for; other text is itself.

        Raises:
            InvalidInputError: the value has left.
        """
        with self._lock:
            found = self._values.get(text)
        if found is not None:
            return found.value
        if _REFERENCE.fullmatch(text):
            raise InvalidInputError("The secret values of this statement have expired.", remedy="Run it again.")
        return text

    def release(self, references: Iterable[str]) -> None:
        """A statement with these references has run."""
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
keep, kept, release = _STORE.keep, _STORE.kept, _STORE.release

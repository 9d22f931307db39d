"""Name patterns of JDBC's metadata calls."""

from __future__ import annotations

import re
from functools import cached_property

from paimon_sql.sql.text.wildcards import Wildcard, wildcard_pattern

_PART = re.compile(r"\\(.)|(%)|(_)|(.)", re.DOTALL)


class NamePattern:
    """A pattern of names: ``%`` matches any characters, ``_`` one character, ``\\%`` a percent sign.

    Matching ignores case, as in Spark's ``SHOW TABLES LIKE``.

    Args:
        text: the pattern; None, or as in Spark an empty string, matches all names.
    """

    def __init__(self, text: str | None) -> None:
        self.text = text or "%"

    @property
    def is_all(self) -> bool:
        """Whether the pattern consists only of ``%``."""
        return set(self.text) == {"%"}

    @cached_property
    def name(self) -> str | None:
        """The only name that matches; None if the pattern has a wildcard."""
        parts = list(_PART.finditer(self.text))
        return None if any(p[2] or p[3] for p in parts) else "".join(p[1] or p[4] for p in parts)

    def matches(self, name: str) -> bool:
        """Whether a name matches."""
        return self._expression.fullmatch(name) is not None

    def prefix(self, sign: str) -> NamePattern | None:
        """The pattern before the first ``sign``; None if the pattern does not contain it."""
        head, found, _ = self.text.partition(sign)
        return NamePattern(head) if found else None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return wildcard_pattern(
            Wildcard.ANY if part[2] else Wildcard.ONE if part[3] else part[1] or part[4]
            for part in _PART.finditer(self.text)
        )

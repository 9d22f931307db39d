"""The patterns of names in JDBC's metadata calls."""

from __future__ import annotations

import re
from functools import cached_property

from paimon_sql.sql.text.wildcards import Wildcard, wildcard_pattern

_PART = re.compile(r"\\(.)|(%)|(_)|(.)", re.DOTALL)


class NamePattern:
    """Which names a client asks for: ``%`` stands for any text, ``_`` for one character, ``\\%`` for itself.

    Names match whatever their case is, as in Spark's ``SHOW TABLES LIKE``.

    Args:
        text: the pattern; None, and as in Spark nothing, stands for all names.
    """

    def __init__(self, text: str | None) -> None:
        self.text = text or "%"

    @property
    def is_all(self) -> bool:
        """Whether every name matches by the pattern's form."""
        return set(self.text) == {"%"}

    @cached_property
    def name(self) -> str | None:
        """The one name that the pattern stands for, None if it has a wildcard."""
        parts = list(_PART.finditer(self.text))
        return None if any(p[2] or p[3] for p in parts) else "".join(p[1] or p[4] for p in parts)

    def matches(self, name: str) -> bool:
        """Whether a name is asked for."""
        return self._expression.fullmatch(name) is not None

    def before(self, sign: str) -> NamePattern | None:
        """The pattern of what stands in front of the first ``sign``; None if the pattern does not hold it."""
        head, found, _ = self.text.partition(sign)
        return NamePattern(head) if found else None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return wildcard_pattern(
            Wildcard.ANY if part[2] else Wildcard.ONE if part[3] else part[1] or part[4]
            for part in _PART.finditer(self.text)
        )

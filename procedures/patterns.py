"""Regular expressions that choose databases, tables and consumers by their names."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError


class NameExpression:
    """A regular expression for whole names.

    RE2 decides, in time that grows with the name: no expression can hold the process up. Python's engine decides for
    expressions that RE2 does not know, with lookarounds or references to groups.

    Args:
        text: the expression.

    Raises:
        re.error: it is none.
    """

    def __init__(self, text: str) -> None:
        self._whole = f"^(?:{text})$"
        self._python: re.Pattern[str] | None = None
        try:
            self._matches("")
        except pa.ArrowInvalid:
            self._python = re.compile(text)

    def accepts(self, name: str) -> bool:
        """Whether the whole name matches."""
        return self._matches(name) if self._python is None else self._python.fullmatch(name) is not None

    def _matches(self, name: str) -> bool:
        found: bool = pc.match_substring_regex(pa.scalar(name), self._whole).as_py()
        return found


def pattern_of(text: str | None, argument: str, default: str) -> NameExpression:
    """What an argument chooses; ``default`` where it is left out or blank.

    Raises:
        InvalidInputError: it is no regular expression.
    """
    try:
        return NameExpression(text if text and text.strip() else default)
    except re.error as error:
        raise InvalidInputError(f"{argument}: '{text}' is no regular expression: {error}.") from error

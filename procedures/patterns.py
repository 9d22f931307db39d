"""Regular expressions for names of databases, tables and consumers."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError


class NameExpression:
    """A regular expression that matches full names.

    RE2 matches in linear time, so that no expression can block the process. Python's engine is used for expressions
    that RE2 does not support (lookarounds, back references).

    Args:
        text: the expression.

    Raises:
        re.error: the expression is invalid.
    """

    def __init__(self, text: str) -> None:
        self._anchored = f"^(?:{text})$"
        self._python: re.Pattern[str] | None = None
        try:
            self._matches("")
        except pa.ArrowInvalid:
            self._python = re.compile(text)

    def accepts(self, name: str) -> bool:
        """Whether the full name matches."""
        return self._matches(name) if self._python is None else self._python.fullmatch(name) is not None

    def _matches(self, name: str) -> bool:
        found: bool = pc.match_substring_regex(pa.scalar(name), self._anchored).as_py()
        return found


def pattern_of(text: str | None, argument: str, default: str) -> NameExpression:
    """The expression of an argument; ``default`` if it is omitted or blank.

    Raises:
        InvalidInputError: the text is not a regular expression.
    """
    try:
        return NameExpression(text if text and text.strip() else default)
    except re.error as error:
        raise InvalidInputError(f"{argument}: '{text}' is no regular expression: {error}.") from error

"""Names in a query by position."""

from __future__ import annotations

from typing import NamedTuple

from paimon_sql.sql.dialect.dialect import walk


class NameLocation(NamedTuple):
    """A dotted name, from offset ``start`` up to ``end``."""

    parts: tuple[str, ...]
    start: int
    end: int
    is_common_table: bool


class NameLocations:
    """Finds the names of tables in a query.

    Args:
        text: the query.
    """

    def __init__(self, text: str) -> None:
        self._parser = walk(text)
        self._starts = {token.start: number for number, token in enumerate(self._parser.all_tokens)}

    def at(self, offset: int) -> NameLocation | None:
        """The name that begins at an offset."""
        number = self._starts.get(offset)
        if number is None:
            return None
        self._parser.move_to(number)
        node = self._parser.parts()
        if node is None:
            return None
        parts = tuple(part.name for part in node.expressions)
        is_common = len(parts) == 1 and self._parser.is_common_table(parts[0], number)
        return NameLocation(parts, offset, self._parser.previous().end + 1, is_common)

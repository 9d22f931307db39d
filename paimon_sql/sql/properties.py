"""Lists of options: ``('bucket' = '1', 'file.format' = 'orc')``, as hints and WITH clauses hold them."""

from __future__ import annotations

from typing import NamedTuple

from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.scan import Token


class Property(NamedTuple):
    """One option: its key and value, its text as written, and its first and last token."""

    key: str
    value: str
    sql: str
    first: Token
    last: Token


def read_properties(inside: Cursor) -> list[Property]:
    """The options between the brackets; a key is a string or a dotted name, a value a string, number or boolean.

    Raises:
        SqlSyntaxError: an option is none, at its place.
    """
    found: list[Property] = []
    for piece in inside.split():
        first, begin = piece.peek(), piece.position
        if piece.done:
            raise piece.error("An option is missing here, before or behind a comma.")
        key = piece.string()
        if key is None:
            parts = piece.names()
            key = ".".join(parts) if parts else None
        if key is None:
            raise inside.fork(begin).error("An option begins with its key in quotes.", remedy="Write 'key' = 'value'.")
        piece.accept("=|==")
        value = _value(piece)
        if value is None or not piece.done:
            raise piece.fork(end=inside.end + 1).error(
                f"The option '{key}' needs one value in quotes.", remedy=f"Write '{key}' = 'value'."
            )
        found.append(Property(key, value, piece.fragment(begin), first, piece.peek(-1)))
    return found


def _value(piece: Cursor) -> str | None:
    if (text := piece.string()) is not None:
        return text
    if piece.sees("TRUE|FALSE"):
        return piece.next().word.lower()
    is_plain = piece.peek().kind == "number" and piece.peek().text.replace(".", "", 1).isdecimal()
    return piece.next().text if is_plain else None

"""Names and string literals in SQL."""

from __future__ import annotations

import re

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([\w$]+))\s*")


def quote_name(name: str) -> str:
    """Quote a name with back-quotes; any characters are safe."""
    return "`" + name.replace("`", "``") + "`"


def name_sql(name: str) -> str:
    """The name, quoted only if needed; for positions where a keyword can be a name."""
    return name if _PLAIN_NAME.fullmatch(name) else quote_name(name)


def string_sql(value: str) -> str:
    """Quote a string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def parts_in(text: str) -> tuple[str, ...] | None:
    """Parse a dotted name such as ``db.`t$branch_b` ``; None if the text is not one."""
    parts: list[str] = []
    position = 0
    while match := _PART.match(text, position):
        parts.append(match[2] or match[1].replace("``", "`"))
        position = match.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            return None
        position += 1
    return None

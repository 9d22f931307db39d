"""Names and texts as they are written in SQL."""

from __future__ import annotations

import re

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([\w$]+))\s*")


def quote_name(name: str) -> str:
    """The name in back-quotes, as Spark reads it back whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def name_sql(name: str) -> str:
    """The name as it stands where no keyword may follow: bare where it is plain, else in back-quotes."""
    return name if _PLAIN_NAME.fullmatch(name) else quote_name(name)


def string_sql(value: str) -> str:
    """A string literal of this value."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def parts_in(text: str) -> tuple[str, ...] | None:
    """The parts of a name that is written inside a text, such as ``db.`t$branch_b` ``; None where it is none."""
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

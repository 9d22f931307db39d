"""Names in SQL: quoted, parsed, and matched by LIKE patterns; and string literals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([\w$]+))\s*")


def quote_name(name: str) -> str:
    """Quote a name with back-quotes; any characters are safe."""
    return "`" + name.replace("`", "``") + "`"


def quote_path(parts: Iterable[str]) -> str:
    """Quote the parts of a name, with dots between them."""
    return ".".join(map(quote_name, parts))


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


class Wildcard(Enum):
    """A wildcard of a pattern."""

    ANY = "any characters"
    ONE = "one character"


def wildcard_pattern(parts: Iterable[str | Wildcard]) -> re.Pattern[str]:
    """Compile a pattern for ``fullmatch``, ignoring case.

    Each piece between two wildcards matches its first occurrence only, since lookaheads do not backtrack. A naive
    expression such as ``.*a.*a.*b`` tries all occurrences of all pieces.
    """
    pieces = [""]
    for part in parts:
        if part is Wildcard.ANY:
            pieces.append("")
        else:
            pieces[-1] += "." if part is Wildcard.ONE else re.escape(str(part))
    first, *others = pieces
    if not others:
        return re.compile(first, re.IGNORECASE | re.DOTALL)
    *middle, last = others
    found = "".join(rf"(?=(?P<_{i}>.*?{piece}))(?P=_{i})" for i, piece in enumerate(filter(None, middle)))
    return re.compile(f"{first}{found}.*{last}", re.IGNORECASE | re.DOTALL)

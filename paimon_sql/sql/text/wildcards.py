"""LIKE patterns as regular expressions without backtracking: time grows with the text, not with the wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum


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

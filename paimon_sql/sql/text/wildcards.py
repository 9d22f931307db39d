"""Patterns with wildcards, as LIKE has them, in time that grows with the text and not with the number of wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum


class Wildcard(Enum):
    """A part of a pattern that stands for other characters."""

    ANY = "any characters"
    ONE = "one character"


def wildcard_pattern(parts: Iterable[str | Wildcard]) -> re.Pattern[str]:
    """An expression whose ``fullmatch`` takes the texts that the parts describe, whatever their case is.

    Each piece between two wildcards is looked for once, where it comes first: what is found in a lookahead is not
    given up again. Naive expressions such as ``.*a.*a.*b`` try all places of all pieces.
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

"""Texts on which a pattern that is not linear takes long, made from the pattern's own parse tree."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as code  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as code
    import sre_parse as parser

_CANDIDATES = "a0 _-.:/'\"`$(=*%A1TZ\n\\~é\x00,<"
_CATEGORIES = {
    code.CATEGORY_DIGIT: "0",
    code.CATEGORY_NOT_DIGIT: "a",
    code.CATEGORY_SPACE: " ",
    code.CATEGORY_NOT_SPACE: "a",
    code.CATEGORY_WORD: "a",
    code.CATEGORY_NOT_WORD: " ",
}
_REPEATS = {code.MAX_REPEAT, code.MIN_REPEAT, getattr(code, "POSSESSIVE_REPEAT", None)}
_ENDINGS = ("", "\x00", "'", "a!")


def attacks(pattern: re.Pattern[str], size: int) -> Iterator[str]:
    """Texts of about ``size`` characters: each part of the pattern, and each way up to it, over and over.

    They stand alone, behind what leads to the part, and before endings that few patterns take.
    """
    seen = set()
    for lead, pump in _pumps(pattern):
        for before in dict.fromkeys(("", lead)):
            for ending in _ENDINGS:
                if pump and (before, pump, ending) not in seen:
                    seen.add((before, pump, ending))
                    yield before + pump * max(1, size // len(pump)) + ending


def _pumps(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    found: set[tuple[str, str]] = set()
    _walk(tree, "", {}, lambda lead, pump: found.add((lead, pump)))
    return found


def _walk(items: Any, lead: str, groups: dict[int, str], add: Callable[[str, str], None]) -> str:
    """A text that the items match; on the way the parts are added."""
    start = lead
    for op, argument in items:
        before = lead
        if op is code.SUBPATTERN:
            number, _, _, inner = argument
            lead = _walk(inner, lead, groups, add)
            groups[number] = lead[len(before) :]
        elif op in (code.ASSERT, getattr(code, "ATOMIC_GROUP", None)):
            inner = argument[1] if op is code.ASSERT else argument
            ahead = _walk(inner, lead, groups, add)
            lead = ahead if op is not code.ASSERT else lead
        elif op in _REPEATS:
            least, most, inner = argument
            once = _walk(inner, lead, groups, add)[len(lead) :]
            add(lead, once)
            for whole in (lead, lead + once):
                add("", whole)
                add("", whole + " ")
            for several in (2, 7):
                add(lead, once * several + " ")
            lead += once * (max(least, 1) if least or most == code.MAXREPEAT else min(most, 1))
        elif op is code.BRANCH:
            ways = [_walk(way, lead, groups, add) for way in argument[1]]
            lead = ways[0]
        elif op is code.GROUPREF:
            lead += groups.get(argument, "")
        elif op is code.LITERAL:
            lead += chr(argument)
        elif op is code.NOT_LITERAL:
            lead += next(c for c in _CANDIDATES if ord(c) != argument)
        elif op is code.ANY:
            lead += "a"
        elif op is code.IN:
            lead += _member(argument)
        if lead != before:
            add(before, lead[len(before) :])
    if lead != start:
        add(start, lead[len(start) :])
        add("", lead)
    return lead


def _member(members: Any) -> str:
    """A character of a set."""
    flat = [(op, argument) for op, argument in members]
    if flat[0][0] is code.NEGATE:
        return next(c for c in _CANDIDATES if not any(_holds(op, argument, c) for op, argument in flat[1:]))
    op, argument = flat[0]
    if op is code.CATEGORY:
        return _CATEGORIES[argument]
    return chr(argument[0] if op is code.RANGE else argument)


def _holds(op: Any, argument: Any, character: str) -> bool:
    if op is code.LITERAL:
        return ord(character) == int(argument)
    if op is code.RANGE:
        return bool(argument[0] <= ord(character) <= argument[1])
    return re.fullmatch({"0": r"\d", " ": r"\s", "a": r"\w"}[_CATEGORIES[argument]], character) is not None

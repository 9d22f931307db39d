"""Edits of a text by position, which leave the rest as the user wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Replacement of the characters from ``start`` up to ``end``; an insertion if both are equal."""

    start: int
    end: int
    text: str


def clause(text: str, start: int, end: int, replacement: str) -> Edit:
    """An edit that inserts words, with spaces where they would touch their neighbours."""
    before = "" if start == 0 or text[start - 1].isspace() else " "
    after = "" if end == len(text) or text[end].isspace() or text[end] in ",;)" else " "
    return Edit(start, end, before + replacement + after)


def apply(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """``text[start:end]`` with the edits inside it; edits may touch but not overlap.

    Insertions at one position keep their order.
    """
    end = len(text) if end is None else end
    parts: list[str] = []
    position = start
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < position or edit.end > end:
            continue
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    parts.append(text[position:end])
    return "".join(parts)


def outside(edits: Iterable[Edit], start: int, end: int) -> list[Edit]:
    """The edits outside of ``start`` to ``end``."""
    return [e for e in edits if e.end <= start or e.start >= end]

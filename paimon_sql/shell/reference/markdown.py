"""Markdown tables and cells."""

from __future__ import annotations

from collections.abc import Iterable


def code(text: str) -> str:
    """Format as code."""
    return f"`{text}`"


def sentence(text: str) -> str:
    """Add a full stop, and a capital if the text begins with a word."""
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    return text[0].upper() + text[1:] if text.split()[0].rstrip(",.;:'s").isalpha() else text


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table, after an empty line."""
    head = list(head)
    return ["", _row(head), "|" + "---|" * len(head), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

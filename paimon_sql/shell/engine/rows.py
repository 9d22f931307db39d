"""Columns and rows of results, and values as printed cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

Encoding = Literal["text", "json"]
Row = tuple[str | None, ...]

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True)
class Column:
    """A column of a result; ``type`` is its SQL type, such as ``decimal(10,2)``."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """Whether values are numbers, and aligned right."""
        return self.type.partition("(")[0] in _NUMBERS


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
NULL = Text("NULL", style="dim")


def visible(value: str) -> str:
    r"""Escape every control character, as ``\n`` or ``\x1b``."""
    return _CONTROL.sub(_escaped, value)


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return _NAMED.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")


def cell(value: str | None, longest: int) -> Text:
    """Format a cell, truncated with ``…`` to ``longest`` characters."""
    if value is None:
        return NULL
    if len(value) > longest:
        value = value[: longest - 1] + "…"
    return Text(visible(value))

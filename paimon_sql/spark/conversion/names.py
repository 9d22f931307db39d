"""Parsing of qualified names in Spark's notation."""

from __future__ import annotations

import re

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def unquoted_parts(text: str) -> list[str]:
    """The unquoted parts of a name in the notation of ``Identifier.toString``, which quotes only where necessary."""
    return [plain or quoted.replace("``", "`") for quoted, plain in _PART.findall(text)]

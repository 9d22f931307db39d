"""Names as Spark writes them."""

from __future__ import annotations

import re

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def unquoted_parts(text: str) -> list[str]:
    """The parts of a name of several, as ``Identifier.toString`` gives it: back-quotes where a part needs them."""
    return [plain or quoted.replace("``", "`") for quoted, plain in _PART.findall(text)]

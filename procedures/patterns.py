"""Regular expressions that choose databases and tables by their names."""

from __future__ import annotations

import re

from paimon_sql.errors import InvalidInputError


def pattern_of(text: str | None, argument: str, default: str) -> re.Pattern[str]:
    """What an argument chooses; ``default`` where it is left out or blank.

    Raises:
        InvalidInputError: it is no regular expression.
    """
    try:
        return re.compile(text if text and text.strip() else default)
    except re.error as error:
        raise InvalidInputError(f"{argument}: '{text}' is no regular expression: {error}.") from error

"""The functions that a session has for calls over columns: kept out of definitions, and out of SHOW FUNCTIONS."""

from __future__ import annotations

import re

from paimon_sql.errors import UnsupportedError
from paimon_sql.sql.cursor import Cursor, Source
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.functions import SESSION_PREFIX
from paimon_sql.sql.scan import scan

_INSTEAD = {
    "VIEW": ("view", "Call it in the query that reads the view, or make a TEMPORARY VIEW."),
    "FUNCTION": ("function", "Call it where the function is called, or make a TEMPORARY FUNCTION."),
    "MATERIALIZED": ("materialized table", "Call it in the query that reads the table."),
}
_SHOWS = re.compile(r"\bshow\b", re.IGNORECASE)
_OTHERS = f"(?!{SESSION_PREFIX})"
"""What patterns of SHOW FUNCTIONS begin with, which Spark reads as regular expressions: names that are not ours."""


def check_lasting(text: str, function: str) -> None:
    """Refuse a call over columns where the statement makes something that outlives the session.

    Args:
        text: a statement that calls the function over columns.
        function: the function of ``sys``.

    Raises:
        UnsupportedError: the statement makes a view, a function or a materialized table of a catalog.
    """
    cursor = _cursor(text)
    if not cursor.accept("CREATE|ALTER"):
        return
    cursor.accept("OR", "REPLACE|ALTER")
    if cursor.peek().word in _INSTEAD:
        kept, instead = _INSTEAD[cursor.peek().word]
        raise UnsupportedError(
            f"A {kept} cannot hold sys.{function} over columns, which only this session can work out.", remedy=instead
        )


def without_ours(text: str) -> str:
    """A SHOW FUNCTIONS that leaves out the functions which the session has for calls over columns."""
    if not _SHOWS.search(text):
        return text
    cursor = _cursor(text)
    if not cursor.accept("SHOW"):
        return text
    cursor.accept("USER|SYSTEM|ALL")
    if not cursor.accept("FUNCTIONS"):
        return text
    if cursor.accept("FROM|IN"):
        cursor.names()
    cursor.accept("LIKE")
    if cursor.done:
        end = cursor.peek(-1).end
        return apply(text, [Edit(end, end, f" LIKE '{_OTHERS}*'")])
    pattern = cursor.peek()
    if pattern.kind != "string" or not pattern.text.startswith(("'", '"')):
        return text  # it names one function
    quote = pattern.text[0]
    others = "|".join(_OTHERS + part.lstrip() for part in pattern.text[1:-1].split("|"))
    return apply(text, [Edit(pattern.start, pattern.end, f"{quote}{others}{quote}")])


def _cursor(text: str) -> Cursor:
    return Cursor(Source(text, scan(text) or []))

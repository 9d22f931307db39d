"""Functions of the session for calls over columns: refused in definitions, hidden from SHOW FUNCTIONS."""

from __future__ import annotations

import re

from paimon_sql.errors import UnsupportedError
from paimon_sql.sql.dialect.dialect import walk
from paimon_sql.sql.functions.catalog_functions import SESSION_PREFIX
from paimon_sql.sql.text.edits import Edit, apply

_INSTEAD = {
    "VIEW": ("view", "Call it in the query that reads the view, or make a TEMPORARY VIEW."),
    "FUNCTION": ("function", "Call it where the function is called, or make a TEMPORARY FUNCTION."),
    "MATERIALIZED": ("materialized table", "Call it in the query that reads the table."),
}
_SHOWS = re.compile(r"\bshow\b", re.IGNORECASE)
_OTHERS = f"(?!{SESSION_PREFIX})"
"""Prefix for patterns of SHOW FUNCTIONS (regular expressions in Spark) that excludes the session's functions."""


def check_not_in_definition(text: str, function: str) -> None:
    """Check that a call over columns is not part of a definition that outlives the session.

    Args:
        text: a statement that calls the function over columns.
        function: the function of ``sys``.

    Raises:
        UnsupportedError: the statement defines a catalog's view, function or materialized table.
    """
    parser = walk(text)
    if not parser.accept("CREATE|ALTER"):
        return
    parser.accept("OR", "REPLACE|ALTER")
    if parser.word in _INSTEAD:
        kind, instead = _INSTEAD[parser.word]
        raise UnsupportedError(
            f"A {kind} cannot hold sys.{function} over columns, which only this session can work out.",
            remedy=instead,
        )


def hide_session_functions(text: str) -> str:
    """Make SHOW FUNCTIONS hide the session's functions; other statements are unchanged."""
    if not _SHOWS.search(text):
        return text
    parser = walk(text)
    if not parser.accept("SHOW"):
        return text
    parser.accept("USER|SYSTEM|ALL")
    if not parser.accept("FUNCTIONS"):
        return text
    if parser.accept("FROM|IN"):
        parser.parts()
    parser.accept("LIKE")
    if not parser.token:
        end = parser.previous().end + 1
        return apply(text, [Edit(end, end, f" LIKE '{_OTHERS}*'")])
    pattern, start = parser.text_of_token(), parser.token.start
    if not pattern.startswith(("'", '"')):
        return text  # the name of one function
    others = "|".join(_OTHERS + part.lstrip() for part in pattern[1:-1].split("|"))
    return apply(text, [Edit(start, start + len(pattern), f"{pattern[0]}{others}{pattern[0]}")])

"""The functions that a session has for calls over columns: kept out of definitions, and out of SHOW FUNCTIONS."""

from __future__ import annotations

import re

from paimon_sql.errors import UnsupportedError
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.functions import SESSION_PREFIX
from paimon_sql.sql.paimon import walk

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
    parser = walk(text)
    if not parser.accept("CREATE|ALTER"):
        return
    parser.accept("OR", "REPLACE|ALTER")
    if parser.word in _INSTEAD:
        kept, instead = _INSTEAD[parser.word]
        raise UnsupportedError(
            f"A {kept} cannot hold sys.{function} over columns, which only this session can work out.", remedy=instead
        )


def without_ours(text: str) -> str:
    """A SHOW FUNCTIONS that leaves out the functions which the session has for calls over columns."""
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
        end = parser.before().end + 1
        return apply(text, [Edit(end, end, f" LIKE '{_OTHERS}*'")])
    pattern, start = parser.text_of_token(), parser.token.start
    if not pattern.startswith(("'", '"')):
        return text  # it names one function
    others = "|".join(_OTHERS + part.lstrip() for part in pattern[1:-1].split("|"))
    return apply(text, [Edit(start, start + len(pattern), f"{pattern[0]}{others}{pattern[0]}")])

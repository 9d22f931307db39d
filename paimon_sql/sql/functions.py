"""Calls of the catalog's bucket functions over columns, which become calls of a session's own functions.

``sys.bucket(8, 'x')`` of constants is the catalog's function, worked out while Spark plans. Over columns Spark would
run it inside its executors, where Python is reached by functions of the session only; so there the call becomes one of
``__paimon_bucket(8, k)``, which the session has to register.
"""

from __future__ import annotations

import re

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor, Source
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.scan import scan, unquote_name

BUCKET_FUNCTIONS = {"bucket": "default", "mod_bucket": "mod", "hive_bucket": "hive"}
"""The functions of ``sys``, with the bucket function of tables that each stands for."""

_SYSTEM = "sys"
_ANY = re.compile(r"\b(?:bucket|mod_bucket|hive_bucket)\b`?\s*\(", re.IGNORECASE)
_PREFIX = "__paimon_"


def session_function(name: str) -> str:
    """The name under which a session has a bucket function."""
    return _PREFIX + name


def calls_functions(text: str) -> bool:
    """A quick look: False where no bucket function can be in the text."""
    return _ANY.search(text) is not None


def rewrite_calls(text: str, context: RewriteContext) -> tuple[str, list[str]]:
    """The text with the calls over columns rewritten, and the bucket functions that the session needs for it."""
    source = Source(text, scan(text) or [])
    edits: list[Edit] = []
    used: list[str] = []
    for index in range(len(source.tokens)):
        found = _call(source, index, context)
        if found is not None:
            name, edit = found
            edits.append(edit)
            used.append(name)
    return (apply(text, edits), used) if edits else (text, [])


def _call(source: Source, index: int, context: RewriteContext) -> tuple[str, Edit] | None:
    """The function that is called at a token over more than constants, and what its name becomes."""
    tokens = source.tokens
    if tokens[index].kind not in ("word", "quoted") or unquote_name(tokens[index]).lower() not in BUCKET_FUNCTIONS:
        return None
    start = index
    while start >= 2 and tokens[start - 1].word == "." and tokens[start - 2].kind in ("word", "quoted"):
        start -= 2
    before = [unquote_name(t) for t in tokens[start:index:2]]
    catalog = before[0] if len(before) == 2 else context.current_catalog
    if not before or before[-1].lower() != _SYSTEM or len(before) > 2 or catalog not in context.catalogs:
        return None
    inside = Cursor(source, index + 1).group() if index + 1 < len(tokens) else None
    if inside is None or all(_is_constant(piece) for piece in inside.split()):
        return None
    name = unquote_name(tokens[index]).lower()
    return name, Edit(tokens[start].start, tokens[index].end, session_function(name))


def _is_constant(piece: Cursor) -> bool:
    piece.accept("-") or piece.accept("DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X")
    is_value = piece.peek().kind in ("number", "string") or piece.sees("NULL|TRUE|FALSE")
    piece.position += 1
    return is_value and piece.done

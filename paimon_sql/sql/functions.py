"""Calls of the catalog's functions over columns, which become calls of a session's own functions.

``sys.bucket(8, 'x')`` of constants is the catalog's function, worked out while Spark plans. Over columns Spark would
run it inside its executors, where Python is reached by functions of the session only; so there the call becomes one of
``__paimon_bucket(8, k)``, which the session has to register. The one that ``blob_view`` becomes has the table and the
column in its name, as workers cannot look for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor, Source
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.scan import scan, string_value, unquote_name

BUCKET_FUNCTIONS = {"bucket": "default", "mod_bucket": "mod", "hive_bucket": "hive"}
"""The functions of ``sys``, with the bucket function of tables that each stands for."""
PATH_TO_DESCRIPTOR, DESCRIPTOR_TO_STRING, BLOB_VIEW = "path_to_descriptor", "descriptor_to_string", "blob_view"
BLOB_FUNCTIONS = (PATH_TO_DESCRIPTOR, DESCRIPTOR_TO_STRING, BLOB_VIEW)

_SYSTEM = "sys"
_NAMES = (*BUCKET_FUNCTIONS, *BLOB_FUNCTIONS)
_WORDS = ("bucket", "descriptor", BLOB_VIEW)
"""The names have one of these in them."""
_ANY = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b`?\s*\(", re.IGNORECASE)
SESSION_PREFIX = "__paimon_"
"""What the names of a session's functions begin with."""


def session_function(name: str) -> str:
    """The name under which a session has a function."""
    return SESSION_PREFIX + name


def called_function(name: str) -> str:
    """The function of ``sys`` that one of the session's stands for."""
    return BLOB_VIEW if name.startswith(f"{BLOB_VIEW}_") else name


def view_function(table: str, field_id: int) -> str:
    """The function that makes references to a column of a table, of which both stand in its name."""
    return f"{BLOB_VIEW}_{field_id}_{table.encode().hex()}"


def viewed_column(name: str) -> tuple[str, int]:
    """The table and the id of the column that such a function refers to."""
    field_id, _, table = name.removeprefix(f"{BLOB_VIEW}_").partition("_")
    return bytes.fromhex(table).decode(), int(field_id)


def calls_functions(text: str) -> bool:
    """A quick look: False where no such function can be in the text."""
    # Long texts are looked through for a word much sooner than for a pattern.
    lowered = text.lower()
    return any(word in lowered for word in _WORDS) and _ANY.search(text) is not None


def rewrite_calls(text: str, context: RewriteContext) -> tuple[str, list[str]]:
    """The text with the calls over columns rewritten, and the functions that the session needs for it."""
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
    if tokens[index].kind not in ("word", "quoted") or unquote_name(tokens[index]).lower() not in _NAMES:
        return None
    start = index
    while start >= 2 and tokens[start - 1].word == "." and tokens[start - 2].kind in ("word", "quoted"):
        start -= 2
    before = [unquote_name(t) for t in tokens[start:index:2]]
    catalog = before[0] if len(before) == 2 else context.current_catalog
    if not before or before[-1].lower() != _SYSTEM or len(before) > 2 or catalog not in context.catalogs:
        return None
    inside = Cursor(source, index + 1).group() if index + 1 < len(tokens) else None
    pieces = inside.split() if inside is not None else []
    if inside is None or all(_is_constant(piece.fork()) for piece in pieces):
        return None
    name = unquote_name(tokens[index]).lower()
    if name == BLOB_VIEW:
        name = _view(pieces, catalog, context)
    return name, Edit(tokens[start].start, tokens[index].end, session_function(name))


def _view(pieces: Sequence[Cursor], catalog: str, context: RewriteContext) -> str:
    """The function that a call of ``blob_view`` over rows becomes."""
    if len(pieces) != 3 or any(piece.peek().kind != "string" for piece in pieces[:2]):
        raise InvalidInputError(
            "blob_view takes a table and a column as literal texts, and the id of a row.",
            remedy="Write sys.blob_view('db.t', 'column', _ROW_ID).",
        )
    table, column = (string_value(piece.peek()) for piece in pieces[:2])
    return view_function(*context.blob_column(catalog, table, column))


def _is_constant(piece: Cursor) -> bool:
    piece.accept("-") or piece.accept("DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X")
    is_value = piece.peek().kind in ("number", "string") or piece.sees("NULL|TRUE|FALSE")
    piece.position += 1
    return is_value and piece.done

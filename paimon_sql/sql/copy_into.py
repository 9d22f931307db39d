"""COPY INTO, from files into a table of ours and from a table or query into files."""

from __future__ import annotations

import re
from typing import Literal

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import CopyIntoLocation, CopyIntoTable

_REMEDY = "Write FILE_FORMAT = (TYPE = CSV)."
OnError = Literal["ABORT_STATEMENT", "CONTINUE", "SKIP_FILE"]


def copy_into(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``COPY INTO t [(a, b)] FROM 'path' ..`` and ``COPY INTO 'path' FROM {t | (query)} ..``."""
    cursor.accept("COPY", "INTO")
    return _to_location(cursor, context) if cursor.peek().kind == "string" else _to_table(cursor, context)


def _to_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    table = context.table(cursor.names())
    if table is None:
        return None
    columns = cursor.group()
    names = tuple(name for piece in columns.split() if (name := piece.name())) if columns else ()
    _expect(cursor, "FROM")
    path = _string(cursor)
    if path is None:
        raise cursor.error("COPY INTO a table reads from a path in quotes.")
    file_format = _file_format(cursor)
    pattern: str | None = None
    force = False
    on_error: OnError = "ABORT_STATEMENT"
    while not cursor.done:
        if cursor.accept("PATTERN", "=") and cursor.peek().kind == "string":
            pattern = _string(cursor)
        elif cursor.sees("FORCE", "=", "TRUE|FALSE"):
            force = _flag(cursor)
        elif cursor.accept("ON_ERROR", "=") and cursor.sees("ABORT_STATEMENT|CONTINUE|SKIP_FILE"):
            word = cursor.next().word
            on_error = "CONTINUE" if word == "CONTINUE" else "SKIP_FILE" if word == "SKIP_FILE" else "ABORT_STATEMENT"
        else:
            raise cursor.error(
                "This cannot stand in COPY INTO a table.",
                remedy="It takes PATTERN = '..', FORCE = TRUE and ON_ERROR = CONTINUE, SKIP_FILE or ABORT_STATEMENT.",
            )
    return Carried(CopyIntoTable(table, path, file_format, names, pattern, force, on_error))


def _to_location(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    path = _string(cursor) or ""
    _expect(cursor, "FROM")
    query = cursor.group()
    if query is not None:
        source = query.rest()
    else:
        start = cursor.position
        parts = cursor.names()
        if parts is None:
            raise cursor.error("COPY INTO a path needs a table or a query in brackets.")
        if context.table(parts) is None:
            return None
        source = cursor.fragment(start)
    file_format = _file_format(cursor)
    overwrite = _flag(cursor) if cursor.sees("OVERWRITE", "=", "TRUE|FALSE") else False
    if not cursor.done:
        raise cursor.error("COPY INTO a path takes OVERWRITE = TRUE or FALSE here.")
    return Carried(CopyIntoLocation(path, source, query is not None, file_format, overwrite))


def _file_format(cursor: Cursor) -> dict[str, str | tuple[str, ...]]:
    inside = cursor.group() if cursor.accept("FILE_FORMAT", "=") else None
    if inside is None:
        raise cursor.error("COPY INTO needs the format of the files.", remedy=_REMEDY)
    options: dict[str, str | tuple[str, ...]] = {}
    for piece in inside.split():
        name = piece.name()
        if name is None or not piece.accept("="):
            raise piece.error("An option of FILE_FORMAT is a name and a value.", remedy=_REMEDY)
        values = piece.group()
        if values is not None:
            options[name.upper()] = tuple(v for item in values.split() if (v := _string(item)) is not None)
        else:
            text = _string(piece)
            options[name.upper()] = piece.next().text if text is None else text
        if not piece.done:
            raise piece.error("An option of FILE_FORMAT has one value.", remedy=_REMEDY)
    return options


_ESCAPE = re.compile(r"\\([ntr\\'\"])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def _string(cursor: Cursor) -> str | None:
    """The value of a string, and step over it; most backslashes stay, as patterns and NULL_IF need them."""
    if cursor.peek().kind != "string":
        return None
    text = cursor.next().text
    return _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), text[1:-1].replace(text[0] * 2, text[0]))


def _flag(cursor: Cursor) -> bool:
    cursor.position += 2
    return cursor.next().word == "TRUE"


def _expect(cursor: Cursor, word: str) -> None:
    if not cursor.accept(word):
        raise cursor.error(f"COPY INTO needs {word} here.")

"""Flink's statements about catalogs, databases and the session."""

from __future__ import annotations

import re

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.kept_values import keep
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.properties import read_properties
from paimon_sql.sql.scan import quote_name, string_value
from paimon_sql.sql.statements import CreateCatalog, DropCatalog

_HARMLESS = frozenset(("type", "metastore", "warehouse"))
"""Options of a catalog whose values may be shown; among the others are passwords and keys."""
_PAIMON_KEY = re.compile(r"spark\.paimon\.[^\s`=;]*[-*][^\s`=;]*")


def use_catalog(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``USE CATALOG c``, which is ``SET CATALOG c`` in Spark."""
    use = cursor.peek()
    return [Edit(use.start, use.end, "SET")] if cursor.peek(2).kind in ("word", "quoted") else None


def set_option(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """Keys that Spark writes with back-quotes: ``SET 'key' = 'value'``, and Paimon's own with dashes or stars."""
    cursor.accept("SET|RESET")
    key, value = cursor.peek(), cursor.peek(2)
    if key.kind != "string":
        found = _PAIMON_KEY.match(cursor.source.text, key.start)
        return [Edit(found.start(), found.end(), quote_name(found[0]))] if found else None
    strings = [key, value] if value.kind == "string" else [key]
    return [Edit(token.start, token.end, quote_name(string_value(token))) for token in strings]


def database_options(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``CREATE DATABASE d WITH (..)`` and ``ALTER DATABASE d SET (..)``, which want DBPROPERTIES in Spark."""
    if not cursor.seek(("WITH|SET", "(")):
        return None
    word = cursor.peek()
    return [Edit(word.end, word.end, " DBPROPERTIES")]


def show_create_view(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``SHOW CREATE VIEW v``, which Spark writes with TABLE."""
    view = cursor.peek(2)
    return [Edit(view.start, view.end, "TABLE")]


def create_catalog(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``CREATE CATALOG [IF NOT EXISTS] c [COMMENT '..'] WITH (..)``."""
    cursor.accept("CREATE", "CATALOG")
    tolerant = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    if name is None:
        raise cursor.error("CREATE CATALOG needs a name.")
    comment = cursor.string() if cursor.accept("COMMENT") else None
    inside = cursor.group() if cursor.accept("WITH") else None
    if inside is None or not cursor.done:
        raise cursor.error(
            "CREATE CATALOG needs its options.", remedy="Write WITH ('type' = 'paimon', 'warehouse' = '/path')."
        )
    options = {p.key: p.value if p.key in _HARMLESS else keep(p.value) for p in read_properties(inside)}
    return Carried(CreateCatalog(name, options, tolerant, comment))


def drop_catalog(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``DROP CATALOG [IF EXISTS] c``."""
    cursor.accept("DROP", "CATALOG")
    tolerant = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    if name is None or not cursor.done:
        raise cursor.error("DROP CATALOG needs one name.")
    return Carried(DropCatalog(name, tolerant))

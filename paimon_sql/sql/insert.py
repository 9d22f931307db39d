"""INSERT .. BY NAME into tables of ours that take new columns: Spark can only write into the columns that there are."""

from __future__ import annotations

from paimon_sql.format.options.spark import WRITE_MERGE_SCHEMA
from paimon_sql.sql.changes import leading_ctes
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.properties import read_properties
from paimon_sql.sql.statements import InsertByName


def insert_by_name(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``[WITH ..] INSERT INTO|OVERWRITE [TABLE] t [PARTITION (..)] BY NAME ..``, if the write may bring columns."""
    leading_ctes(cursor)
    if not cursor.accept("INSERT") or not cursor.accept("INTO|OVERWRITE"):
        return None
    cursor.accept("TABLE")
    table = context.table(cursor.names())
    if table is None:
        return None
    options = dict(cursor.source.options.get(cursor.peek(-1).end, {}))
    if cursor.sees("WITH", "("):
        cursor.next()
        inside = cursor.group()
        options |= {p.key: p.value for p in read_properties(inside)} if inside else {}
    if cursor.accept("PARTITION"):
        cursor.skip()
    cursor.accept("IF", "NOT", "EXISTS")
    if not cursor.accept("BY", "NAME"):
        return None
    asked = options.get(WRITE_MERGE_SCHEMA.key)
    merges = context.merges_schema(table) if asked is None else asked.lower() == "true"
    return Carried(InsertByName(table, options), spark_parses=True) if merges else None

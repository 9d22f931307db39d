"""INSERTs into tables of ours that Spark alone would carry out otherwise.

BY NAME where a table takes new columns: Spark can only write into those that there are. With dynamic partition columns
where a session wants these last, as Hive does: Spark takes all columns in the order of the table.
"""

from __future__ import annotations

from paimon_sql.format.options.spark import WRITE_MERGE_SCHEMA
from paimon_sql.sql.changes import leading_ctes
from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.properties import read_properties
from paimon_sql.sql.scan import quote_name
from paimon_sql.sql.statements import EvolvingInsert


def insert(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """An INSERT, if there is something to do: ``[WITH ..] INSERT [WITH SCHEMA EVOLUTION] INTO|OVERWRITE [TABLE] t ..``.

    Behind the table's name it may have ``[PARTITION (..)] [BY NAME]``.
    """
    leading_ctes(cursor)
    begin = cursor.peek().start
    if not cursor.accept("INSERT"):
        return None
    evolves = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    if not cursor.accept("INTO|OVERWRITE"):
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
    spec = cursor.group() if cursor.accept("PARTITION") else None
    cursor.accept("IF", "NOT", "EXISTS")
    if evolves:
        return Carried(EvolvingInsert(table, options, evolves=True), spark_parses=True)
    if not cursor.accept("BY", "NAME"):
        return _like_hive(cursor, begin, spec, table, context) if spec is not None else None
    asked = options.get(WRITE_MERGE_SCHEMA.key)
    merges = context.merges_schema(table) if asked is None else asked.lower() == "true"
    return Carried(EvolvingInsert(table, options), spark_parses=True) if merges else None


def _like_hive(cursor: Cursor, begin: int, spec: Cursor, table: TableName, context: RewriteContext) -> Outcome | None:
    """The names of the columns behind a PARTITION with dynamic columns, where the statement has none.

    A query whose columns are called as the table's are, in their order, is left as it is.
    """
    values = [(piece.name() or "", piece.done) for piece in spec.split()]
    dynamic = [name for name, is_free in values if is_free]
    names_columns = cursor.sees("(") and not cursor.sees("(", "SELECT|WITH|VALUES|FROM|TABLE|(")
    if not dynamic or names_columns:
        return None
    given = {name.lower() for name, _ in values}
    if not (columns := context.hive_columns(table)):
        return None
    names = [*(c for c in columns if c.lower() not in given), *dynamic]
    end = cursor.peek(-1).end
    text = cursor.source.text
    fixed = {name.lower() for name, is_free in values if not is_free}
    if context.query_columns(text[:begin] + text[end:]) == tuple(c.lower() for c in columns if c.lower() not in fixed):
        return None
    return [Edit(end, end, f" ({', '.join(map(quote_name, names))})")]

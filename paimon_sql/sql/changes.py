"""DELETE and UPDATE of our tables, read clause by clause; their expressions stay text."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.ctes import skip_ctes
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import Assignment, DeleteFrom, Update

_NO_ALIAS = frozenset(["WHERE", "SET", "USING", "ON", "WHEN", "VERSION", "TIMESTAMP", "FOR"])


def delete_from(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``[WITH ..] DELETE FROM t [[AS] a] [WHERE ..]``."""
    ctes = leading_ctes(cursor)
    if not cursor.accept("DELETE", "FROM"):
        return None
    target = Target.read(cursor, context)
    if target is None:
        return None
    where = _where(cursor)
    if where == "" or not cursor.done:
        return None
    statement = DeleteFrom(target.table, target.alias, where, ctes, target.options)
    return Carried(statement, spark_parses=True, plain=target.plain)


def update(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``[WITH ..] UPDATE t [[AS] a] SET c = e, .. [WHERE ..]``."""
    ctes = leading_ctes(cursor)
    if not cursor.accept("UPDATE"):
        return None
    target = Target.read(cursor, context)
    if target is None or not cursor.accept("SET"):
        return None
    start = cursor.position
    cursor.seek(("WHERE",))
    changes = assignments(cursor.fork(start, cursor.position))
    where = _where(cursor)
    if not changes or where == "" or not cursor.done:
        return None
    statement = Update(target.table, changes, target.alias, where, ctes, target.options)
    return Carried(statement, spark_parses=True, plain=target.plain)


def leading_ctes(cursor: Cursor) -> str:
    """The text of the common table expressions that the cursor stands at, and step over them."""
    start = cursor.position
    return cursor.fragment(start) if skip_ctes(cursor) else ""


class Target:
    """The table that a statement changes, with its alias and the options of its hint."""

    def __init__(self, table: TableName, alias: str | None, options: dict[str, str], plain: list[Edit]) -> None:
        self.table, self.alias, self.options, self.plain = table, alias, options, plain

    @classmethod
    def read(cls, cursor: Cursor, context: RewriteContext) -> Target | None:
        """Read the target at the cursor and step over it; None where it is no table of ours."""
        table = context.table(cursor.names())
        if table is None:
            return None
        end = cursor.peek(-1).end
        options = cursor.source.options.get(end, {})
        # Spark's grammar has no options and then an alias here.
        plain = [Edit(end, cursor.source.hinted[end], "")] if end in cursor.source.hinted else []
        return cls(table, alias_of(cursor), options, plain)


def alias_of(cursor: Cursor) -> str | None:
    """The alias at the cursor, and step over it."""
    if cursor.accept("AS"):
        return cursor.name()
    return None if cursor.peek().word in _NO_ALIAS else cursor.name()


def assignments(cursor: Cursor) -> tuple[Assignment, ...]:
    """The list ``a.b = expression, ..``; empty where one of its pieces is no assignment."""
    found: list[Assignment] = []
    for piece in cursor.split():
        column = piece.names()
        if column is None or not piece.accept("=|==") or piece.done:
            return ()
        found.append(Assignment(column, piece.rest()))
    return tuple(found)


def _where(cursor: Cursor) -> str | None:
    """The condition; None without WHERE, empty where nothing follows it."""
    return cursor.rest() if cursor.accept("WHERE") else None

"""MERGE INTO our tables, read clause by clause; its expressions and its source stay text."""

from __future__ import annotations

from typing import Literal

from paimon_sql.sql.changes import Target, assignments, leading_ctes
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.expressions import skip_time_travel
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.scan import quote_name
from paimon_sql.sql.statements import Assignment, MergeClause, MergeInto

Rows = Literal["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"]


def merge_into(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``[WITH ..] MERGE [WITH SCHEMA EVOLUTION] INTO t USING s ON .. WHEN ..``."""
    ctes = leading_ctes(cursor)
    if not cursor.accept("MERGE"):
        return None
    evolution = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    target = Target.read(cursor, context) if cursor.accept("INTO") else None
    if target is None or not cursor.accept("USING"):
        return None
    source_start = cursor.position
    if not cursor.seek(("ON",)):
        return None
    source = _Source(cursor.fork(source_start, cursor.position))
    cursor.next()
    start = cursor.position
    _seek_when(cursor)
    on = cursor.fragment(start)
    clauses: list[MergeClause] = []
    while not cursor.done:
        start = cursor.position
        cursor.next()
        _seek_when(cursor)
        clause = _clause(cursor.fork(start, cursor.position))
        if clause is None:
            return None
        clauses.append(clause)
    if not source.sql or not on or not clauses:
        return None
    statement = MergeInto(
        target.table, source.sql, on, tuple(clauses), target.alias, source.alias, evolution, ctes, target.options
    )
    return Carried(statement, spark_parses=True, plain=target.plain + source.plain)


class _Source:
    """What stands between USING and ON."""

    def __init__(self, cursor: Cursor) -> None:
        start = cursor.position
        self.alias: str | None = None
        self.plain: list[Edit] = []
        names: tuple[str, ...] | None = ()
        if cursor.group() is None and (names := cursor.names()) is None:
            self.sql = ""
            return
        name_end = cursor.position
        skip_time_travel(cursor)
        self.sql = cursor.fragment(start)
        tokens, hinted = cursor.source.tokens, cursor.source.hinted
        begin, end = tokens[start].start, tokens[cursor.position - 1].end
        if cursor.position > name_end or end in hinted:  # more than a name, which is all that Spark takes here
            alias = f" AS {quote_name(names[-1])}" if names and cursor.done else ""
            self.plain = [Edit(begin, hinted.get(end, end), f"(SELECT * FROM {self.sql}){alias}")]
        if not cursor.done:
            cursor.accept("AS")
            self.alias = cursor.rest()


def _seek_when(cursor: Cursor) -> None:
    """Go to the next WHEN [NOT] MATCHED that is not inside CASE .. END."""
    depth = 0
    while not cursor.done:
        if depth == 0 and (cursor.sees("WHEN", "MATCHED") or cursor.sees("WHEN", "NOT|!", "MATCHED")):
            return
        if cursor.sees("CASE") and cursor.peek(-1).word not in (".", "AS"):
            depth += 1
        elif cursor.sees("END") and depth:
            depth -= 1
        cursor.skip()


def _clause(cursor: Cursor) -> MergeClause | None:
    cursor.accept("WHEN")
    rows: Rows = "NOT MATCHED" if cursor.accept("NOT|!") else "MATCHED"
    cursor.accept("MATCHED")
    if rows == "NOT MATCHED" and cursor.accept("BY", "SOURCE"):
        rows = "NOT MATCHED BY SOURCE"
    else:
        cursor.accept("BY", "TARGET")
    condition = None
    if cursor.accept("AND"):
        start = cursor.position
        _seek_then(cursor)
        condition = cursor.fragment(start)
    if not cursor.accept("THEN"):
        return None
    if cursor.accept("DELETE"):
        return MergeClause(rows, "DELETE", condition) if cursor.done else None
    if cursor.accept("UPDATE", "SET"):
        if cursor.sees("*") and cursor.peek(1).kind == "end":
            return MergeClause(rows, "UPDATE *", condition)
        changes = assignments(cursor)
        return MergeClause(rows, "UPDATE", condition, changes) if changes else None
    if cursor.accept("INSERT"):
        if cursor.sees("*") and cursor.peek(1).kind == "end":
            return MergeClause(rows, "INSERT *", condition)
        inserted = _inserted(cursor)
        return MergeClause(rows, "INSERT", condition, inserted) if inserted else None
    return None


def _seek_then(cursor: Cursor) -> None:
    """Go to the THEN that ends the condition, past those inside CASE .. END."""
    depth = 0
    while not cursor.done and not (depth == 0 and cursor.sees("THEN")):
        if cursor.sees("CASE") and cursor.peek(-1).word not in (".", "AS"):
            depth += 1
        elif cursor.sees("END") and depth:
            depth -= 1
        cursor.skip()


def _inserted(cursor: Cursor) -> tuple[Assignment, ...]:
    columns = cursor.group()
    values = cursor.group() if columns is not None and cursor.accept("VALUES") else None
    if columns is None or values is None or not cursor.done:
        return ()
    names = [piece.names() for piece in columns.split()]
    expressions = [piece.rest() for piece in values.split()]
    if len(names) != len(expressions) or not all(expressions):
        return ()
    return tuple(Assignment(name, e) for name, e in zip(names, expressions, strict=True) if name)

"""Tags and branches in SQL: ALTER TABLE .. CREATE TAG and its like, SHOW TAGS, and the same words for branches."""

from __future__ import annotations

from typing import Literal

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import (
    CreateBranch,
    CreateTag,
    DeleteBranch,
    DeleteTag,
    RenameBranch,
    RenameTag,
    ShowBranches,
    ShowTags,
    Statement,
)

_UNITS = {"DAY": "d", "DAYS": "d", "HOUR": "h", "HOURS": "h", "MINUTE": "min", "MINUTES": "min"}
_AS_OF = "Write AS OF VERSION and the number of a snapshot."
_RETAIN = "Write RETAIN and a number of DAYS, HOURS or MINUTES."


def show_tags(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``SHOW TAGS t`` and ``SHOW BRANCHES t``."""
    cursor.accept("SHOW")
    kind = ShowTags if cursor.accept("TAGS") else ShowBranches
    cursor.accept("BRANCHES")
    cursor.accept("FROM|IN")
    table = context.table(cursor.names())
    if table is None:
        return None
    return Carried(_whole(cursor, kind(table)))


def alter_tag(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``ALTER TABLE t {CREATE | REPLACE | CREATE OR REPLACE | DELETE | DROP | RENAME} {TAG | BRANCH} ..``."""
    cursor.accept("ALTER", "TABLE")
    table = context.table(cursor.names())
    if table is None:
        return None
    statement: Statement
    if cursor.accept("CREATE", "OR", "REPLACE", "TAG"):
        statement = _create_tag(cursor, table, "CREATE OR REPLACE")
    elif cursor.accept("REPLACE", "TAG"):
        statement = _create_tag(cursor, table, "REPLACE")
    elif cursor.accept("CREATE", "TAG"):
        statement = _create_tag(cursor, table, "CREATE")
    elif cursor.accept("DELETE|DROP", "TAG"):
        exists = cursor.accept("IF", "EXISTS")
        statement = DeleteTag(table, _name(cursor, "tag"), exists)
    elif cursor.accept("RENAME", "TAG"):
        statement = RenameTag(table, *_renaming(cursor, "tag"))
    elif cursor.sees("REPLACE", "BRANCH") or cursor.sees("CREATE", "OR", "REPLACE", "BRANCH"):
        raise cursor.error("A branch cannot be replaced.", remedy="DROP BRANCH and then CREATE BRANCH.")
    elif cursor.accept("CREATE", "BRANCH"):
        statement = _create_branch(cursor, table)
    elif cursor.accept("DELETE|DROP", "BRANCH"):
        exists = cursor.accept("IF", "EXISTS")
        statement = DeleteBranch(table, _name(cursor, "branch"), exists)
    elif cursor.accept("RENAME", "BRANCH"):
        statement = RenameBranch(table, *_renaming(cursor, "branch"))
    else:
        return None
    return Carried(_whole(cursor, statement))


def _create_tag(cursor: Cursor, table: TableName, mode: Literal["CREATE", "REPLACE", "CREATE OR REPLACE"]) -> CreateTag:
    tolerant = mode == "CREATE" and cursor.accept("IF", "NOT", "EXISTS")
    tag = _name(cursor, "tag")
    snapshot = retained = None
    if cursor.accept("AS", "OF", "VERSION"):
        if not cursor.peek().text.isdecimal():
            raise cursor.error("AS OF VERSION needs the number of a snapshot.", remedy=_AS_OF)
        snapshot = int(cursor.next().text)
    if cursor.accept("RETAIN"):
        number, unit = cursor.peek().text, _UNITS.get(cursor.peek(1).word)
        if not number.isdecimal() or unit is None:
            raise cursor.error("RETAIN needs a time.", remedy=_RETAIN)
        cursor.position += 2
        retained = f"{number} {unit}"
    return CreateTag(table, tag, mode, snapshot, retained, tolerant)


def _create_branch(cursor: Cursor, table: TableName) -> CreateBranch:
    tolerant = cursor.accept("IF", "NOT", "EXISTS")
    branch = _name(cursor, "branch")
    tag = snapshot = None
    if cursor.accept("AS", "OF", "TAG"):
        tag = _name(cursor, "tag")
    elif cursor.accept("AS", "OF", "VERSION"):
        if cursor.peek().text.isdecimal():
            snapshot = int(cursor.next().text)
        else:
            tag = _name(cursor, "tag")
    if cursor.sees("RETAIN") or cursor.sees("WITH", "SNAPSHOT"):
        raise cursor.error("A branch has no time to live.", remedy="Delete it when it is not needed any more.")
    return CreateBranch(table, branch, tag, tolerant, snapshot)


def _renaming(cursor: Cursor, what: str) -> tuple[str, str]:
    old = _name(cursor, what)
    if not cursor.accept("TO"):
        raise cursor.error(f"RENAME {what.upper()} needs TO and the new name.")
    return old, _name(cursor, what)


def _name(cursor: Cursor, what: str) -> str:
    name = cursor.name() or cursor.string() or (cursor.next().text if cursor.peek().kind == "number" else None)
    if not name:
        raise cursor.error(f"The name of a {what} is missing.", remedy="Put it in back-quotes if it is no plain word.")
    return name


def _whole(cursor: Cursor, statement: Statement) -> Statement:
    if not cursor.done:
        raise cursor.error("Nothing more is expected here.")
    return statement

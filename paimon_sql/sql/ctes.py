"""Which names are common table expressions, and in which part of a statement."""

from __future__ import annotations

from typing import NamedTuple

from paimon_sql.sql.cursor import Cursor


class Scope(NamedTuple):
    """The tokens ``start`` up to ``end`` in which ``name``, in lower case, means a common table expression."""

    name: str
    start: int
    end: int


def scopes(cursor: Cursor) -> list[Scope]:
    """The scopes of all common table expressions from the cursor on, at any depth.

    Each is seen by those that follow it in its list and by the query behind the list, up to the bracket that closes
    around both; a recursive one also by itself.
    """
    found: list[Scope] = []
    closing: list[int] = []
    partners = cursor.source.partners
    while not cursor.done:
        index = cursor.position
        while closing and index >= closing[-1]:
            closing.pop()
        if cursor.sees("(") and index in partners:
            closing.append(partners[index])
        if cursor.sees("WITH"):
            found += _list(cursor.fork(index + 1), closing[-1] if closing else cursor.end)
        cursor.next()
    return found


def skip_ctes(cursor: Cursor) -> bool:
    """Step over ``WITH a AS (..), b AS (..)`` if it is next; False if it is not."""
    ahead = cursor.fork()
    if not ahead.accept("WITH") or not _list(ahead, ahead.end):
        return False
    cursor.position = ahead.position
    return True


def _list(cursor: Cursor, end: int) -> list[Scope]:
    """The scopes of the list that the cursor stands at, and step over it; none where it is no such list."""
    found: list[Scope] = []
    recursive = cursor.peek(1).word not in ("AS", "(") and cursor.accept("RECURSIVE")
    while True:
        name = cursor.name()
        if name is None:
            return found
        if recursive and cursor.accept("MAX", "RECURSION", "LEVEL"):
            cursor.next()
        if cursor.sees("(") and _is_query_next(cursor.fork()):
            cursor.skip()  # the names of the columns
        cursor.accept("AS")
        begin = cursor.position
        if cursor.group() is None:
            return found
        found.append(Scope(name.lower(), begin if recursive else cursor.position, end))
        if not cursor.accept(","):
            return found


def _is_query_next(cursor: Cursor) -> bool:
    """Whether ``AS (`` or ``(`` follows the bracket that is next, so that this one lists the columns."""
    cursor.skip()
    cursor.accept("AS")
    return cursor.sees("(")

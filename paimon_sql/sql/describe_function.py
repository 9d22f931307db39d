"""DESCRIBE FUNCTION of a catalog's own function, for which Spark asks no catalog."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import DescribeFunction

_SYSTEM = "sys"


def describe_function(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``DESCRIBE FUNCTION [EXTENDED] sys.f``; all other functions are Spark's."""
    cursor.accept("DESCRIBE|DESC")
    cursor.accept("FUNCTION")
    extended = cursor.accept("EXTENDED")
    function = context.table(cursor.names())
    if function is None or len(function) != 3 or function[1].lower() != _SYSTEM or not cursor.done:
        return None
    return Carried(DescribeFunction(function, extended))

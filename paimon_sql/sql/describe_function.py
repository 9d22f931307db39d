"""DESCRIBE FUNCTION of a catalog's own function, for which Spark asks no catalog."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import DescribeFunction

_SYSTEM = "sys"


def describe_function(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``DESCRIBE FUNCTION [EXTENDED] f`` of a function of ``sys`` or of one that a catalog keeps."""
    cursor.accept("DESCRIBE|DESC")
    cursor.accept("FUNCTION")
    extended = cursor.accept("EXTENDED")
    function = context.function(cursor.names())
    if function is None or len(function) != 3 or not cursor.done:
        return None
    if function[1].lower() != _SYSTEM and not context.has_function(function):
        return None
    return Carried(DescribeFunction(function, extended))

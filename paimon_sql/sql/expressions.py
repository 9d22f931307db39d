"""Where a value expression ends, told from tokens alone.

``t FOR SYSTEM_TIME AS OF <expression> [AS] x``: nothing but the expression's own shape says where the alias begins.
"""

from __future__ import annotations

from paimon_sql.sql.cursor import Cursor

_SHORT_UNITS = ["NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]
_UNITS = frozenset(_SHORT_UNITS) | {f"{unit}S" for unit in _SHORT_UNITS}
_BINARY = frozenset(["+", "-", "*", "/", "%", "DIV", "||", "|", "&", "^", "<<", ">", "<"]) | frozenset(
    ["=", "==", "<=", ">=", "<>", "!=", "<=>"]
)


def skip_time_travel(cursor: Cursor) -> bool:
    """Step over ``[FOR] VERSION AS OF 1`` or ``[FOR] SYSTEM_TIME AS OF <expression>``; False if none is next."""
    ahead = cursor.fork()
    ahead.accept("FOR")
    is_version = ahead.sees("VERSION|SYSTEM_VERSION")
    if not ahead.accept("VERSION|SYSTEM_VERSION|TIMESTAMP|SYSTEM_TIME", "AS", "OF"):
        return False
    if is_version:
        ahead.next()
    else:
        skip_value(ahead)
    cursor.position = min(ahead.position, cursor.end)
    return True


def skip_value(cursor: Cursor) -> None:
    """Step over the value expression that begins at the cursor (Spark's grammar: ``valueExpression``)."""
    _skip_operand(cursor)
    while cursor.peek().word in _BINARY:
        while cursor.peek().word in _BINARY:  # ">>" comes as two tokens, a sign follows its operator
            cursor.next()
        _skip_operand(cursor)


def _skip_operand(cursor: Cursor) -> None:
    while cursor.accept("+|-|~"):
        pass
    if cursor.sees("CASE"):
        _skip_case(cursor)
    elif cursor.sees("INTERVAL") and _is_amount(cursor, 1):
        cursor.next()
        _skip_interval(cursor)
    elif cursor.sees(":"):  # a named parameter
        cursor.next()
        cursor.next()
    elif cursor.peek().kind == "string":
        while cursor.peek().kind == "string":
            cursor.next()
    elif cursor.peek().kind == "word" and cursor.peek(1).kind == "string":  # TIMESTAMP '..'
        cursor.next()
        cursor.next()
    else:
        cursor.skip()
    _skip_postfix(cursor)


def _skip_postfix(cursor: Cursor) -> None:
    while True:
        if cursor.sees(".|::"):
            cursor.next()
            cursor.next()
        elif cursor.sees("(|["):  # the arguments of a function, an index, the size of a type
            cursor.skip()
        else:
            return


def _skip_case(cursor: Cursor) -> None:
    cursor.next()
    while not cursor.done and not cursor.accept("END"):
        if cursor.sees("CASE"):
            _skip_case(cursor)
        else:
            cursor.skip()


def _is_amount(cursor: Cursor, ahead: int) -> bool:
    if cursor.peek(ahead).word in ("+", "-"):
        ahead += 1
    return cursor.peek(ahead).kind in ("string", "number")


def _skip_interval(cursor: Cursor) -> None:
    """Step over ``2 HOURS 3 MINUTES``, ``'1 02:00' DAY TO MINUTE`` or ``'1 day'``."""
    while _is_amount(cursor, 0):
        cursor.accept("+|-")
        cursor.next()
        if cursor.peek().word not in _UNITS:
            return
        cursor.next()
    if cursor.sees("TO") and cursor.peek(1).word in _UNITS:
        cursor.next()
        cursor.next()

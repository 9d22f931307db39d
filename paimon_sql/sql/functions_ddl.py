"""CREATE FUNCTION and DROP FUNCTION of a catalog's functions, which Spark knows for its own catalog only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor, Source
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.scan import scan, unquote_name
from paimon_sql.sql.statements import CreateFunction, DropFunction


def create_function(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] f (..) RETURNS .. RETURN ..`` or ``.. AS 'class' USING JAR ..``.

    Flink's ``LANGUAGE JAVA`` behind a class is left out: Spark takes nothing else.
    """
    cursor.accept("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    if not cursor.accept("FUNCTION"):
        return None
    tolerant = cursor.accept("IF", "NOT", "EXISTS")
    function = context.function(cursor.names())
    if function is None:
        return None
    plain: list[Edit] = []
    if cursor.sees("AS") and cursor.peek(1).kind == "string" and cursor.peek(2).word == "LANGUAGE":
        if cursor.peek(3).word not in ("JAVA", "SCALA"):
            raise cursor.error("Spark runs classes of JAVA and SCALA only.", cursor.peek(3))
        plain = [Edit(cursor.peek(2).start, cursor.peek(3).end, "")]
        cursor.source.edits += plain
    return Carried(CreateFunction(function, cursor.rest(), replace, tolerant), spark_parses=True, plain=plain)


def drop_function(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``DROP FUNCTION [IF EXISTS] f``."""
    cursor.accept("DROP", "FUNCTION")
    tolerant = cursor.accept("IF", "EXISTS")
    function = context.function(cursor.names())
    return None if function is None or not cursor.done else Carried(DropFunction(function, tolerant))


def called_names(text: str) -> list[tuple[str, ...]]:
    """The names before brackets in an expression or query: its functions, and words of SQL that look like them."""
    return [name for name, _, _ in calls(Source(text, scan(text) or []))]


def with_stand_ins(text: str, result_type: Callable[[tuple[str, ...]], str | None]) -> str:
    """A text with nulls in the place of calls of some functions, so that it can be checked without them.

    Args:
        text: the text.
        result_type: what a function of that name gives back, in SQL; None where the call is to stay.
    """
    source = Source(text, scan(text) or [])
    edits: list[Edit] = []
    for name, start, bracket in calls(source):
        kind, close = result_type(name), source.partners.get(bracket)
        if kind is None or close is None:
            continue
        null = f"CAST(NULL AS {kind})"
        first, last = source.tokens[bracket].end, source.tokens[close]
        if close == bracket + 1:
            edits.append(Edit(start, last.end, null))
        else:  # the arguments stay, to be checked
            edits += [Edit(start, first, "IF(struct("), Edit(last.start, last.end, f") IS NULL, {null}, {null})")]
    return apply(text, edits)


def calls(source: Source) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """The names before brackets: each with the offset where it begins, and the index of its bracket's token."""
    tokens = source.tokens
    for bracket in range(1, len(tokens)):
        if tokens[bracket].word != "(" or tokens[bracket - 1].kind not in ("word", "quoted"):
            continue
        start = bracket - 1
        while start >= 2 and tokens[start - 1].word == "." and tokens[start - 2].kind in ("word", "quoted"):
            start -= 2
        yield tuple(unquote_name(t) for t in tokens[start:bracket:2]), tokens[start].start, bracket

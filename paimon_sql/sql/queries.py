"""The constructs inside queries: OPTIONS hints, unquoted system table names, incremental table functions.

What they become is plain Spark SQL:

- ``t /*+ OPTIONS('k' = 'v') */`` becomes Spark's own relation options, see ``hints``.
- ``t$snapshots`` and ``db.t$branch_b`` are put in back-quotes.
- ``paimon_incremental_query('t', 1, 3)`` and its like become ``t WITH ('incremental-between' = '1,3')``.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.sql.cursor import Cursor, Source, names_in
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.hints import Call, Hints
from paimon_sql.sql.scan import Token, quote_name, string_sql, string_value

FUNCTIONS = {
    "PAIMON_INCREMENTAL_QUERY": ("incremental-between", 2),
    "PAIMON_INCREMENTAL_BETWEEN_TIMESTAMP": ("incremental-between-timestamp", 2),
    "PAIMON_INCREMENTAL_TO_AUTO_TAG": ("incremental-to-auto-tag", 1),
}
"""Table functions that read a range of changes: the option that says the same, and its number of bounds."""


def read_queries(source: Source, tokens: Sequence[Token]) -> None:
    """Find the constructs in a statement and note in ``source`` what they become.

    Args:
        source: the statement, whose ``edits``, ``options`` and ``hinted`` are filled.
        tokens: its tokens with the hints.

    Raises:
        SqlSyntaxError: a hint or a function is malformed or stands where it can have no effect.
    """
    for token in source.tokens:
        if token.kind == "word" and "$" in token.word:
            source.edits.append(Edit(token.start, token.end, quote_name(token.text)))
    calls = _incremental_calls(source)
    if any(t.kind == "hint" and "OPTIONS" in t.text.upper() for t in tokens):
        Hints(source, calls).read(tokens)
    source.edits += [call.edit() for call in calls.values()]


def _incremental_calls(source: Source) -> dict[int, Call]:
    """The calls of incremental table functions, by the index of the token that closes each."""
    calls: dict[int, Call] = {}
    for i, token in enumerate(source.tokens):
        if token.word not in FUNCTIONS:
            continue
        cursor = Cursor(source, i + 1)
        inside = cursor.group()
        if inside is None:
            continue
        option, bounds = FUNCTIONS[token.word]
        name, *limits = [_literal(piece) for piece in inside.split()] or [None]
        table = names_in(name) if name else None
        if table is None or len(limits) != bounds or None in limits:
            what = "a start and an end" if bounds == 2 else "a tag"
            raise cursor.error(
                f"{token.text} takes a table and {what} as literals.",
                token,
                remedy=f"Write {token.text}('db.t', {', '.join(['1', '3'][:bounds])}).",
            )
        value = ",".join(limit for limit in limits if limit is not None)
        close = cursor.position - 1
        calls[close] = Call(token.start, source.tokens[close].end, table, f"'{option}' = {string_sql(value)}")
    return calls


def _literal(piece: Cursor) -> str | None:
    sign = "-" if piece.accept("-") else ""
    token = piece.next()
    if not piece.done or token.kind not in ("string", "number"):
        return None
    return string_value(token) if token.kind == "string" else sign + token.text

"""Position of an error in its statement, from the error of Spark or the dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paimon_sql.shell.text.splitter import tokens_of
from paimon_sql.shell.text.tokens import Token, unquote_name

Span = tuple[int, int]
"""Offsets of the first character and after the last one."""

_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def locate(statement: str, *, hint: Span | None, names: Iterable[str] = (), near: str | None = None) -> Span | None:
    """Find the part of a statement with an error; None if that is not certain.

    The hint can be wrong: the dialect rewrites statements, and Spark then counts in the rewritten text. So the error's
    names must occur in the statement, too.

    Args:
        statement: the statement.
        hint: the reported position; one character or more.
        names: the names in the error, as Spark writes them: ```a`.`b```; the first one found is used.
        near: the text at which a parser stopped.
    """
    tokens, _ = tokens_of(statement)
    if near is not None:
        return _near(statement, tokens, hint, near)
    names = list(names)
    for name in names:
        found = _occurrences(tokens, [part[0] or part[1] for part in _NAME_PART.findall(name)])
        inside = [span for span in found if hint is None or (hint[0] <= span[0] and span[1] <= hint[1])]
        if len(inside) == 1 or (inside and hint is not None):
            return inside[0]
        starting = [span for span in found if hint is not None and span[0] <= hint[0] < span[1]]
        if starting:
            return starting[0]
        if len(found) == 1:
            return found[0]
    if names or hint is None or hint[0] >= len(statement):
        return None
    return hint if hint[1] - hint[0] > 1 else _token_at(tokens, hint[0])


def offset_of(text: str, line: int, column: int) -> int:
    """The offset of a line, counted from 1, and a column, counted from 0."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    return min(start + column, len(text))


def _near(statement: str, tokens: Sequence[Token], hint: Span | None, near: str) -> Span | None:
    if near == "end of input":
        return (len(statement), len(statement) + 1)
    if hint is not None and statement[hint[0] :].lower().startswith(near.lower()):
        return hint[0], hint[0] + len(near)
    found = [token for token in tokens if token.text.lower() == near.lower()]
    return (found[0].start, found[0].end) if len(found) == 1 else None


def _occurrences(tokens: Sequence[Token], parts: Sequence[str]) -> list[Span]:
    """The occurrences of a name, to which Spark may have prepended catalog and database."""
    lowered = [part.replace("``", "`").lower() for part in parts]
    for first in range(len(lowered)):
        found = [span for i in range(len(tokens)) if (span := _name_at(tokens, i, lowered[first:]))]
        if found:
            return found
    return []


def _name_at(tokens: Sequence[Token], i: int, parts: Sequence[str]) -> Span | None:
    run = tokens[i : i + 2 * len(parts) - 1]
    if len(run) < 2 * len(parts) - 1 or any(token.word != "." for token in run[1::2]):
        return None
    if [unquote_name(token).lower() for token in run[::2]] != list(parts):
        return None
    return run[0].start, run[-1].end


def _token_at(tokens: Sequence[Token], offset: int) -> Span:
    return next(((t.start, t.end) for t in tokens if t.start <= offset < t.end), (offset, offset + 1))

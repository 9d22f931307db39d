"""Calls of functions in a text: an expression, a query or a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.paimon import walk

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


class FunctionCall(NamedTuple):
    """A name before a bracket.

    Attributes:
        name: its parts.
        start: the offset where it begins.
        end: the offset behind it.
        opened: the offset behind the bracket.
        closed: the offset of the bracket that closes it.
        arguments: the tokens of each argument.
    """

    name: tuple[str, ...]
    start: int
    end: int
    opened: int
    closed: int
    arguments: tuple[Sequence[Token], ...]


def calls_in(text: str) -> list[FunctionCall]:
    """The calls in a text, at any depth, in the order of their names; none where it cannot be cut into tokens."""
    parser = walk(text)
    found: list[FunctionCall] = []
    while parser.token:
        names = parser.index
        parts = parser.parts() if parser.is_name() else None
        inside = parser.bracket() if parts is not None and parser.sees("(") else None
        if parts is not None and inside is not None:
            tokens = parser.tokens(inside[0] - 1, inside[1] + 1)
            found.append(
                FunctionCall(
                    tuple(part.name for part in parts.expressions),
                    parser.tokens(names, names + 1)[0].start,
                    parser.before().end + 1,
                    tokens[0].end + 1,
                    tokens[-1].start,
                    _arguments(tokens[1:-1]),
                )
            )
        if parts is None:
            parser.step_into()
    return found


def _arguments(tokens: Sequence[Token]) -> tuple[Sequence[Token], ...]:
    """The tokens between commas outside of brackets."""
    pieces: list[list[Token]] = [[]] if tokens else []
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.COMMA and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return tuple(pieces)


def called_names(text: str) -> list[tuple[str, ...]]:
    """The names before brackets in an expression or query: its functions, and words of SQL that look like them."""
    return [call.name for call in calls_in(text)]


def with_stand_ins(text: str, result_type: Callable[[tuple[str, ...]], str | None]) -> str:
    """A text with nulls in the place of calls of some functions, so that it can be checked without them.

    Args:
        text: the text.
        result_type: what a function of that name gives back, in SQL; None where the call is to stay.
    """
    edits: list[Edit] = []
    for call in calls_in(text):
        kind = result_type(call.name)
        if kind is None:
            continue
        null = f"CAST(NULL AS {kind})"
        if not call.arguments:
            edits.append(Edit(call.start, call.closed + 1, null))
        else:  # the arguments stay, to be checked
            edits += [
                Edit(call.start, call.opened, "IF(struct("),
                Edit(call.closed, call.closed + 1, f") IS NULL, {null}, {null})"),
            ]
    return apply(text, edits)

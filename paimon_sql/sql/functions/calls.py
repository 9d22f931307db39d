"""Function calls in an expression, query or statement, and names of tables in a query, by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot.tokens import Token  # type: ignore[attr-defined]

from paimon_sql.sql.dialect.nodes import span
from paimon_sql.sql.dialect.session_dialect import walk
from paimon_sql.sql.edits import Edit, apply


class FunctionCall(NamedTuple):
    """A call: a name before a bracket.

    Attributes:
        name: the parts of the name.
        start: the offset of the name.
        end: the offset after the name.
        opened: the offset after the opening bracket.
        closed: the offset of the closing bracket.
        arguments: the tokens of each argument.
    """

    name: tuple[str, ...]
    start: int
    end: int
    opened: int
    closed: int
    arguments: tuple[Sequence[Token], ...]


def calls_in(text: str) -> list[FunctionCall]:
    """The calls in a text, at any depth, in the order of their names; empty if the text cannot be tokenized."""
    parser = walk(text)
    found: list[FunctionCall] = []
    while parser.token:
        parts = parser.parts()
        if parts is None:
            parser.move_to(parser.index + 1)
        elif parser.sees("(") and (inside := parser.bracket()) is not None:
            name = tuple(part.name for part in parts.expressions)
            opened, closed = parser.token.end + 1, parser.tokens[inside[1]].start
            found.append(FunctionCall(name, *span(parts), opened, closed, tuple(parser.elements(inside))))
    return found


def called_names(text: str) -> list[tuple[str, ...]]:
    """The names of calls in an expression or query, with keywords before brackets."""
    return [call.name for call in calls_in(text)]


def with_placeholders(text: str, result_type: Callable[[tuple[str, ...]], str | None]) -> str:
    """Replace calls of some functions by nulls, so that the text can be checked without these functions.

    Args:
        text: the text.
        result_type: the SQL type of a function's result, by its name; None to keep the call.
    """
    edits: list[Edit] = []
    for call in calls_in(text):
        kind = result_type(call.name)
        if kind is None:
            continue
        null = f"CAST(NULL AS {kind})"
        if not call.arguments:
            edits.append(Edit(call.start, call.closed + 1, null))
        else:  # keep the arguments, so that they are checked
            edits += [
                Edit(call.start, call.opened, "IF(struct("),
                Edit(call.closed, call.closed + 1, f") IS NULL, {null}, {null})"),
            ]
    return apply(text, edits)


class NameLocation(NamedTuple):
    """A dotted name, from offset ``start`` up to ``end``."""

    parts: tuple[str, ...]
    start: int
    end: int
    is_common_table: bool


class NameLocations:
    """Finds the names of tables in a query.

    Args:
        text: the query.
    """

    def __init__(self, text: str) -> None:
        self._parser = walk(text)
        self._starts = {token.start: number for number, token in enumerate(self._parser.tokens)}

    def at(self, offset: int) -> NameLocation | None:
        """The name that begins at an offset."""
        number = self._starts.get(offset)
        if number is None:
            return None
        self._parser.move_to(number)
        node = self._parser.parts()
        if node is None:
            return None
        parts = tuple(part.name for part in node.expressions)
        is_common = len(parts) == 1 and self._parser.is_common_table(parts[0], number)
        return NameLocation(parts, *span(node), is_common)

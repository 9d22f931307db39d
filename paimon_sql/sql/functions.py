"""Function calls in statements, and names of tables in queries, by position; rewriting of calls of catalog functions.

Spark evaluates ``sys.bucket(8, 'x')`` of constants during planning, by the catalog's function. Over columns it would
run on executors, where only functions of the session reach Python; so the call becomes ``__paimon_bucket(8, k)``,
which the session must register. The function for ``blob_view`` has table and column in its name, since workers cannot
look them up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.dialect.navigator import STRING_TOKENS
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


BUCKET_FUNCTIONS = {"bucket": "default", "mod_bucket": "mod", "hive_bucket": "hive"}
"""Functions of ``sys``, with the ``bucket-function.type`` that each computes."""
PATH_TO_DESCRIPTOR, DESCRIPTOR_TO_STRING, BLOB_VIEW = "path_to_descriptor", "descriptor_to_string", "blob_view"
BLOB_FUNCTIONS = (PATH_TO_DESCRIPTOR, DESCRIPTOR_TO_STRING, BLOB_VIEW)

_SYSTEM = "sys"
_NAMES = (*BUCKET_FUNCTIONS, *BLOB_FUNCTIONS)
_WORDS = ("bucket", "descriptor", BLOB_VIEW)
"""Every name of `_NAMES` contains one of these."""
_ANY = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b`?\s*\(", re.IGNORECASE)
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
_CONSTANTS = (TokenType.NUMBER, TokenType.HEX_STRING, TokenType.NULL, TokenType.TRUE, TokenType.FALSE)
_LITERALS = STRING_TOKENS.union(_CONSTANTS)
SESSION_PREFIX = "__paimon_"
"""Prefix of the session's functions."""


def session_function(name: str) -> str:
    """The session's name of a function."""
    return SESSION_PREFIX + name


def called_function(name: str) -> str:
    """The function of ``sys`` for a name of `rewrite_calls`."""
    return BLOB_VIEW if name.startswith(f"{BLOB_VIEW}_") else name


def view_function(table: str, field_id: int) -> str:
    """The function that makes blob views of a table's column; its name holds both."""
    return f"{BLOB_VIEW}_{field_id}_{table.encode().hex()}"


def viewed_column(name: str) -> tuple[str, int]:
    """The table and the field id in a name of `view_function`."""
    field_id, _, table = name.removeprefix(f"{BLOB_VIEW}_").partition("_")
    return bytes.fromhex(table).decode(), int(field_id)


def calls_functions(text: str) -> bool:
    """Whether the text may call such a function; a cheap check."""
    # In long texts, searching for a word is much faster than for a pattern.
    lowered = text.lower()
    return any(word in lowered for word in _WORDS) and _ANY.search(text) is not None


def rewrite_calls(text: str, context: RewriteContext) -> tuple[str, list[str]]:
    """Rewrite the calls over columns; returns the text, and the functions that the session must register."""
    edits: list[Edit] = []
    used: list[str] = []
    for call in calls_in(text):
        name = _session_name(call, context)
        if name is not None:
            edits.append(Edit(call.start, call.end, session_function(name)))
            used.append(name)
    return (apply(text, edits), used) if edits else (text, [])


def _session_name(call: FunctionCall, context: RewriteContext) -> str | None:
    """The session's function for a call over columns; None for other functions, and for constants."""
    *before, name = call.name
    name = name.lower()
    catalog = before[0] if len(before) == 2 else context.current_catalog
    if name not in _NAMES or not before or before[-1].lower() != _SYSTEM or len(before) > 2:
        return None
    if catalog not in context.catalogs or all(map(_is_constant, call.arguments)):
        return None
    return _view(call, catalog, context) if name == BLOB_VIEW else name


def _view(call: FunctionCall, catalog: str, context: RewriteContext) -> str:
    """The session's function for a call of ``blob_view`` over columns."""
    named = call.arguments[:2]
    if len(call.arguments) != 3 or any([t.token_type for t in each] != [TokenType.STRING] for each in named):
        raise InvalidInputError(
            "blob_view takes a table and a column as string literals, and a row ID.",
            remedy="Write sys.blob_view('db.t', 'column', _ROW_ID).",
        )
    table, column = (each[0].text for each in named)
    return view_function(*context.blob_column(catalog, table, column))


def _is_constant(argument: Sequence[Token]) -> bool:
    kinds = [token.token_type for token in argument]
    if kinds[:1] == [TokenType.DASH] or (len(argument) == 2 and argument[0].text.upper() in _TYPED):
        kinds = kinds[1:]
    return bool(kinds) and kinds[0] in _LITERALS and (len(kinds) == 1 or kinds[1] is TokenType.DCOLON)


_DEFINITIONS = {
    "VIEW": ("view", "Call it in the query that reads the view, or create a TEMPORARY VIEW."),
    "FUNCTION": ("function", "Call it where the function is called, or create a TEMPORARY FUNCTION."),
    "MATERIALIZED": ("materialized table", "Call it in the query that reads the table."),
}
_SHOWS = re.compile(r"\bshow\b", re.IGNORECASE)
_OTHERS = f"(?!{SESSION_PREFIX})"
"""Prefix for patterns of SHOW FUNCTIONS (regular expressions in Spark) that excludes the session's functions."""


def check_not_in_definition(text: str, function: str) -> None:
    """Check that a call over columns is not part of a definition that outlives the session.

    Args:
        text: a statement that calls the function over columns.
        function: the function of ``sys``.

    Raises:
        UnsupportedError: the statement defines a catalog's view, function or materialized table.
    """
    parser = walk(text)
    if not parser.accept("CREATE|ALTER"):
        return
    parser.accept("OR", "REPLACE|ALTER")
    if parser.word() in _DEFINITIONS:
        kind, remedy = _DEFINITIONS[parser.word()]
        raise UnsupportedError(
            f"A {kind} cannot call sys.{function} on columns, which is evaluated in this session only.",
            remedy=remedy,
        )


def hide_session_functions(text: str) -> str:
    """Make SHOW FUNCTIONS hide the session's functions; other statements are unchanged."""
    if not _SHOWS.search(text):
        return text
    parser = walk(text)
    if not parser.accept("SHOW"):
        return text
    parser.accept("USER|SYSTEM|ALL")
    if not parser.accept("FUNCTIONS"):
        return text
    if parser.accept("FROM|IN"):
        parser.parts()
    parser.accept("LIKE")
    if not parser.token:
        end = parser.previous().end + 1
        return apply(text, [Edit(end, end, f" LIKE '{_OTHERS}*'")])
    pattern, start = parser.text_of_token(), parser.token.start
    if not pattern.startswith(("'", '"')):
        return text  # the name of one function
    others = "|".join(_OTHERS + part.lstrip() for part in pattern[1:-1].split("|"))
    return apply(text, [Edit(start, start + len(pattern), f"{pattern[0]}{others}{pattern[0]}")])

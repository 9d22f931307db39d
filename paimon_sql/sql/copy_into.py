"""COPY INTO, from files into a table of ours and from a table or query into files."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.file_format import file_format, literal
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.scan import Token
from paimon_sql.sql.statements import CopyIntoLocation, CopyIntoTable, OnError

_ON_ERROR: Mapping[str, OnError] = {
    "ABORT_STATEMENT": "ABORT_STATEMENT",
    "CONTINUE": "CONTINUE",
    "SKIP_FILE": "SKIP_FILE",
}
_FLAG = "TRUE|FALSE"
_READS = "SELECT|WITH|VALUES|TABLE|FROM|MAP|REDUCE|("
"""How queries begin."""


def copy_into(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``COPY INTO t [(a, b)] FROM 'path' ..`` and ``COPY INTO 'path' FROM {t | (query)} ..``."""
    cursor.accept("COPY", "INTO")
    return _to_location(cursor) if cursor.peek().kind == "string" else _to_table(cursor, context)


def _to_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    table = context.table(cursor.names())
    if table is None:
        return None
    columns = _columns(cursor)
    _expect(cursor, "FROM")
    path = _path(cursor, "COPY INTO a table reads from a path in quotes.")
    options = file_format(cursor, "load")
    clauses = _clauses(
        cursor,
        {"PATTERN": None, "FORCE": _FLAG, "ON_ERROR": "|".join(_ON_ERROR)},
        "COPY INTO a table",
        "It takes PATTERN = '..', FORCE = TRUE and ON_ERROR = CONTINUE, SKIP_FILE or ABORT_STATEMENT.",
    )
    pattern = literal(clauses["PATTERN"]) if "PATTERN" in clauses else None
    force = "FORCE" in clauses and clauses["FORCE"].word == "TRUE"
    on_error = _ON_ERROR[clauses["ON_ERROR"].word] if "ON_ERROR" in clauses else "ABORT_STATEMENT"
    return Carried(CopyIntoTable(table, path, options, columns, pattern, force, on_error))


def _to_location(cursor: Cursor) -> Outcome:
    path = _path(cursor, "COPY INTO files writes to a path in quotes.")
    _expect(cursor, "FROM")
    at = cursor.peek()
    query = cursor.group()
    if query is not None:
        if query.done:
            raise cursor.error("COPY INTO a path needs a query in these brackets.", at)
        if not query.sees(_READS):
            raise query.error("COPY INTO a path copies the rows of a query that only reads.", remedy="Write a SELECT.")
        source = query.rest()
    else:
        start = cursor.position
        if cursor.names() is None:
            raise cursor.error("COPY INTO a path needs a table or a query in brackets.")
        source = cursor.fragment(start)
    options = file_format(cursor, "unload")
    clauses = _clauses(
        cursor, {"OVERWRITE": _FLAG}, "COPY INTO a path", "It takes OVERWRITE = TRUE or FALSE behind the format."
    )
    overwrite = "OVERWRITE" in clauses and clauses["OVERWRITE"].word == "TRUE"
    return Carried(CopyIntoLocation(path, source, query is not None, options, overwrite))


def _columns(cursor: Cursor) -> tuple[str, ...]:
    at = cursor.peek()
    inside = cursor.group()
    if inside is None:
        return ()
    names: list[str] = []
    for piece in inside.split():
        name = piece.name()
        if name is None or not piece.done:
            raise piece.error("A list of columns has names alone.", remedy="Write COPY INTO t (a, b) FROM '..'.")
        names.append(name)
    if not names:
        raise cursor.error("This list of columns is empty.", at, remedy="Leave the brackets out for all columns.")
    return tuple(names)


def _clauses(cursor: Cursor, known: Mapping[str, str | None], what: str, remedy: str) -> dict[str, Token]:
    """The values of the clauses ``name = value`` up to the end, each a choice of words, or a string for None."""
    found: dict[str, Token] = {}
    while not cursor.done:
        at = cursor.peek()
        if at.word not in known or cursor.peek(1).word != "=":
            raise cursor.error(f"This cannot stand in {what}.", remedy=remedy)
        if at.word in found:
            raise cursor.error(f"{what} has {at.word} twice.")
        value, choice = cursor.peek(2), known[at.word]
        if value.kind != "string" if choice is None else value.word not in choice.split("|"):
            raise cursor.error(f"{at.word} cannot have this value.", value, remedy=remedy)
        found[at.word] = value
        cursor.position += 3
    return found


def _path(cursor: Cursor, problem: str) -> str:
    at = cursor.peek()
    path = literal(cursor.next()) if at.kind == "string" else ""
    if not path.strip():
        raise cursor.error(problem, at)
    return path


def _expect(cursor: Cursor, word: str) -> None:
    if not cursor.accept(word):
        raise cursor.error(f"COPY INTO needs {word} here.")

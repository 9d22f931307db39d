"""Materialized tables in SQL, as Flink writes them: CREATE, ALTER, DROP and SHOW.

A query stays text, in Spark's own grammar and at its place, so that Spark tells its errors where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.definition import read_options
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.parameters import first_parameter
from paimon_sql.sql.statements import (
    ChangeMaterializedQuery,
    CreateMaterializedTable,
    DropMaterializedTable,
    RefreshMaterializedTable,
    ResumeMaterializedTable,
    ShowCreateMaterializedTable,
    ShowMaterializedTables,
    Statement,
    SuspendMaterializedTable,
)

_UNITS: dict[str, Literal["SECOND", "MINUTE", "HOUR", "DAY"]] = {
    "SECOND": "SECOND",
    "MINUTE": "MINUTE",
    "HOUR": "HOUR",
    "DAY": "DAY",
}
_READS = "SELECT|WITH|VALUES|TABLE|FROM|MAP|REDUCE|("
_CLAUSES = "It takes COMMENT, PARTITIONED BY, WITH, FRESHNESS = INTERVAL '3' MINUTE, REFRESH_MODE = FULL and AS."
_ACTIONS = "Write SUSPEND, RESUME, REFRESH or AS and a query."
_COLUMNS = "List names alone: (a, b, PRIMARY KEY (a) NOT ENFORCED). CAST them in the query for other types."


@dataclass
class _Clauses:
    """What stands between the table's name and its query, by the names of the statement's fields."""

    found: dict[str, Any] = field(default_factory=dict)

    def put(self, cursor: Cursor, what: str, **values: Any) -> None:
        """Take a clause in; an error at the cursor if it was there before."""
        if values.keys() & self.found.keys():
            raise cursor.error(f"CREATE MATERIALIZED TABLE has {what} twice.", cursor.peek(-1))
        self.found |= values


def create_materialized(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``CREATE [OR ALTER] MATERIALIZED TABLE [IF NOT EXISTS] t [(..)] .. AS query``."""
    begin = cursor.next().start
    or_alter = cursor.accept("OR", "ALTER")
    if cursor.sees("OR", "REPLACE"):
        raise cursor.error("A materialized table is not replaced.", remedy="Write CREATE OR ALTER, or DROP it first.")
    cursor.accept("MATERIALIZED", "TABLE")
    tolerant = not or_alter and cursor.accept("IF", "NOT", "EXISTS")
    table = _table(cursor, context)
    if table is None:
        return None
    clauses = _Clauses()
    if cursor.sees("("):
        _columns(cursor, clauses)
    while not cursor.accept("AS"):
        _clause(cursor, clauses)
    query, plain = _query(cursor, begin)
    statement = CreateMaterializedTable(table, query, or_alter=or_alter, if_not_exists=tolerant, **clauses.found)
    return Carried(statement, spark_parses=True, plain=[plain])


def alter_materialized(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``ALTER MATERIALIZED TABLE t {SUSPEND | RESUME [WITH (..)] | REFRESH [PARTITION (..)] | AS query}``."""
    begin = cursor.peek().start
    cursor.accept("ALTER", "MATERIALIZED", "TABLE")
    table = _table(cursor, context)
    if table is None:
        return None
    if cursor.accept("AS"):
        query, plain = _query(cursor, begin)
        return Carried(ChangeMaterializedQuery(table, query), spark_parses=True, plain=[plain])
    statement: Statement
    if cursor.accept("SUSPEND"):
        statement = SuspendMaterializedTable(table)
    elif cursor.accept("RESUME"):
        given = read_options(cursor) if cursor.accept("WITH") else []
        statement = ResumeMaterializedTable(table, {p.key: p.value for p in given})
    elif cursor.accept("REFRESH"):
        statement = RefreshMaterializedTable(table, _partition(cursor) if cursor.accept("PARTITION") else {})
    else:
        raise cursor.error("This is nothing that can become of a materialized table.", remedy=_ACTIONS)
    return _whole(cursor, statement)


def drop_materialized(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``DROP MATERIALIZED TABLE [IF EXISTS] t``."""
    cursor.accept("DROP", "MATERIALIZED", "TABLE")
    tolerant = cursor.accept("IF", "EXISTS")
    table = _table(cursor, context)
    return None if table is None else _whole(cursor, DropMaterializedTable(table, tolerant))


def show_create_materialized(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``SHOW CREATE MATERIALIZED TABLE t``."""
    cursor.accept("SHOW", "CREATE", "MATERIALIZED", "TABLE")
    table = _table(cursor, context)
    return None if table is None else _whole(cursor, ShowCreateMaterializedTable(table))


def show_materialized(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``SHOW MATERIALIZED TABLES [{FROM | IN} db] [LIKE 'pattern']``."""
    cursor.accept("SHOW", "MATERIALIZED", "TABLES")
    database: TableName = (context.current_catalog, context.current_database)
    if cursor.accept("FROM|IN"):
        names = cursor.names()
        if names is None:
            raise cursor.error("The name of a database is missing.")
        database = names if len(names) > 1 else (context.current_catalog, *names)
    if database[0] not in context.catalogs:
        return None
    pattern = None
    if cursor.accept("LIKE"):
        pattern = cursor.string()
        if pattern is None:
            raise cursor.error("LIKE needs a pattern in quotes.")
    return _whole(cursor, ShowMaterializedTables(database, pattern))


def _clause(cursor: Cursor, clauses: _Clauses) -> None:
    """Read the clause at the cursor, and step over it."""
    if cursor.accept("COMMENT"):
        comment = cursor.string()
        if comment is None:
            raise cursor.error("COMMENT needs a text in quotes.")
        clauses.put(cursor, "COMMENT", comment=comment)
    elif cursor.accept("PARTITIONED", "BY"):
        clauses.put(cursor, "PARTITIONED BY", partitions=_names(cursor, "PARTITIONED BY"))
    elif cursor.accept("WITH|TBLPROPERTIES"):
        if not cursor.sees("("):
            raise cursor.error("The options stand in brackets.", remedy="Write WITH ('key' = 'value').")
        clauses.put(cursor, "WITH", options={p.key: p.value for p in read_options(cursor)})
    elif cursor.accept("FRESHNESS"):
        clauses.put(cursor, "FRESHNESS", freshness=_freshness(cursor))
    elif cursor.accept("REFRESH_MODE"):
        cursor.accept("=")
        if not cursor.sees("CONTINUOUS|FULL"):
            raise cursor.error("REFRESH_MODE is CONTINUOUS or FULL.")
        clauses.put(cursor, "REFRESH_MODE", refresh_mode=cursor.next().word)
    elif cursor.done:
        raise cursor.error("CREATE MATERIALIZED TABLE needs AS and a query.", remedy=_CLAUSES)
    else:
        raise cursor.error("This cannot stand in CREATE MATERIALIZED TABLE.", remedy=_CLAUSES)


def _freshness(cursor: Cursor) -> tuple[str, Literal["SECOND", "MINUTE", "HOUR", "DAY"]]:
    cursor.accept("=")
    remedy = "Write FRESHNESS = INTERVAL '3' MINUTE, in SECOND, MINUTE, HOUR or DAY."
    if not cursor.accept("INTERVAL"):
        raise cursor.error("FRESHNESS needs an interval.", remedy=remedy)
    at = cursor.peek()
    number = cursor.string() if at.kind == "string" else cursor.next().text
    if not number or not number.strip().isdecimal() or int(number) == 0:
        raise cursor.error("FRESHNESS needs a whole number of units.", at, remedy=remedy)
    unit = _UNITS.get(cursor.peek().word.removesuffix("S"))
    if unit is None:
        raise cursor.error("FRESHNESS needs a unit.", remedy=remedy)
    cursor.next()
    return number.strip(), unit


def _columns(cursor: Cursor, clauses: _Clauses) -> None:
    """The bracket behind the table's name: names of columns with comments, and a primary key."""
    inside = cursor.group()
    if inside is None:
        raise cursor.error("The bracket of the columns never closes.")
    names: list[str] = []
    comments: dict[str, str] = {}
    for piece in inside.split():
        named = piece.sees("CONSTRAINT") and piece.peek(2).word == "PRIMARY"
        if named:
            piece.position += 2
        if piece.accept("PRIMARY", "KEY"):
            clauses.put(piece, "PRIMARY KEY", primary_key=_names(piece, "PRIMARY KEY"))
            piece.accept("NOT", "ENFORCED")
        else:
            name = piece.name()
            if name is None:
                raise piece.error("The name of a column is missing.", remedy=_COLUMNS)
            names.append(name)
            if piece.accept("COMMENT") and (comment := piece.string()) is not None:
                comments[name] = comment
        if not piece.done:
            raise piece.error("The columns of a materialized table have the types of its query.", remedy=_COLUMNS)
    clauses.found |= {"columns": tuple(names), "column_comments": comments}


def _names(cursor: Cursor, what: str) -> tuple[str, ...]:
    """The names in the bracket at the cursor, and step over it."""
    at = cursor.peek()
    inside = cursor.group()
    pieces = inside.split() if inside else []
    names = tuple(piece.name() or "" for piece in pieces)
    if not names or not all(names) or not all(piece.done for piece in pieces):
        raise cursor.error(f"{what} needs names of columns in brackets.", at)
    return names


def _partition(cursor: Cursor) -> dict[str, str]:
    """``(dt = '2024-01-01', h = 3)``: the values as texts."""
    at = cursor.peek()
    inside = cursor.group()
    found: dict[str, str] = {}
    for piece in inside.split() if inside else []:
        name = piece.name()
        if name is None or not piece.accept("="):
            raise piece.error("PARTITION needs column = value.", remedy="Write PARTITION (dt = '2024-01-01').")
        piece.accept("DATE|TIMESTAMP")
        sign = "-" if piece.accept("-") else ""
        token = piece.peek()
        value = piece.string() if token.kind == "string" else sign + piece.next().text
        if token.kind not in ("string", "number") or value is None or not piece.done:
            raise piece.error("A partition's value is a literal.", token, remedy="Write PARTITION (dt = '2024-01-01').")
        if name in found:
            raise piece.error(f"PARTITION names column {name} twice.", token)
        found[name] = value
    if not found:
        raise cursor.error("PARTITION needs columns and values in brackets.", at)
    return found


def _query(cursor: Cursor, begin: int) -> tuple[str, Edit]:
    """The query from the cursor to the end with blanks before it, and the edit that leaves it alone of the statement.

    The statement begins at the offset ``begin``.
    """
    if not cursor.sees(_READS):
        raise cursor.error("A materialized table is defined by a query.", remedy="Write AS and a SELECT.")
    text, start = cursor.source.text, cursor.peek().start
    stop = cursor.source.tokens[cursor.end - 1].end
    if (parameter := first_parameter(cursor.source.tokens, start, stop)) is not None:
        raise cursor.error(
            "Parameters cannot stand in the query of a materialized table.", parameter, remedy="Write the values."
        )
    before = "".join(c if c == "\n" else " " for c in text[:start])
    return before + cursor.rest(), Edit(begin, start, before[begin:])


def _table(cursor: Cursor, context: RewriteContext) -> TableName | None:
    at = cursor.peek()
    names = cursor.names()
    if names is None:
        raise cursor.error("The name of a materialized table is missing.", at)
    return context.to_be(names)


def _whole(cursor: Cursor, statement: Statement) -> Carried:
    if not cursor.done:
        raise cursor.error("Nothing more is expected here.")
    return Carried(statement)

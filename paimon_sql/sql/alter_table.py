"""ALTER TABLE as Flink writes it: SET and RESET of options, ADD, MODIFY, RENAME and DROP of columns."""

from __future__ import annotations

from typing import Literal

from paimon_sql.format.types import DataType
from paimon_sql.sql.columns import Column, Span, read_columns
from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.partitions import drop_partitions, recover_partitions
from paimon_sql.sql.statements import AddColumns, ColumnChange, ModifyColumns
from paimon_sql.sql.tags import alter_tag
from paimon_sql.sql.types import type_text

_NOT_A_COLUMN = "COLUMN|COLUMNS|CONSTRAINT|PARTITION|IF|TO|TAG|BRANCH|CHECK|UNIQUE|FOREIGN"


def alter_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """What an ALTER TABLE at the cursor becomes; None where it is Spark's as it stands."""
    begin = cursor.fork()
    cursor.accept("ALTER", "TABLE")
    table = context.table(cursor.names())
    if table is None:
        return None
    verb = cursor.peek()
    after = cursor.peek(1)
    is_column = after.kind in ("word", "quoted") and after.word not in _NOT_A_COLUMN.split("|")
    if cursor.sees("SET", "("):
        return [Edit(verb.end, verb.end, " TBLPROPERTIES")]
    if cursor.sees("RESET", "("):
        return [Edit(verb.start, verb.end, "UNSET TBLPROPERTIES")]
    if cursor.sees("DROP", "PARTITION") or cursor.sees("DROP", "IF", "EXISTS", "PARTITION"):
        return drop_partitions(cursor, table, context)
    if cursor.sees("RECOVER", "PARTITIONS"):
        return recover_partitions(cursor, table)
    if cursor.sees("ADD|DROP", "PARTITION|IF"):
        return None
    if cursor.sees("CREATE|REPLACE|DELETE|DROP|RENAME", "TAG|BRANCH|OR"):
        return alter_tag(begin, context)
    if cursor.sees("ADD") and (is_column or after.word == "("):
        return _add(cursor, table)
    if cursor.sees("MODIFY"):
        return _modify(cursor, table)
    if cursor.sees("RENAME") and is_column:
        return [Edit(verb.end, verb.end, " COLUMN")]
    if cursor.sees("DROP") and (is_column or after.word == "("):
        return _drop(cursor)
    return None


def _drop(cursor: Cursor) -> Outcome:
    verb = cursor.next()
    if cursor.sees("PRIMARY", "KEY"):
        raise cursor.error("The primary key of a table cannot change.")
    return [Edit(verb.end, verb.end, " COLUMNS" if cursor.sees("(") else " COLUMN")]


def _add(cursor: Cursor, table: TableName) -> Outcome:
    verb = cursor.next()
    wrapped = cursor.sees("(")
    columns = _columns(cursor)
    if all(c.is_exact for c in columns):
        return [Edit(verb.end, verb.end, " COLUMNS" if wrapped else " COLUMN"), *(e for c in columns for e in c.edits)]
    return Carried(AddColumns(table, tuple(_change(cursor, c) for c in columns)))


def _modify(cursor: Cursor, table: TableName) -> Outcome:
    cursor.next()
    return Carried(ModifyColumns(table, tuple(_change(cursor, c) for c in _columns(cursor))))


def _columns(cursor: Cursor) -> list[Column]:
    """The definitions from the cursor to the end of the statement, in brackets or a single one."""
    first, start = cursor.peek(), cursor.position
    wrapped = cursor.sees("(")
    inside = cursor.group() if wrapped else None
    if wrapped and (inside is None or not cursor.done):
        raise cursor.error("Nothing more is expected behind the columns.")
    cursor.position = cursor.end
    text = cursor.source.text
    columns, keys, spans = read_columns(text, Span(first.start, cursor.peek(-1).end), wrapped=wrapped)
    if keys or any(c.is_key for c in columns):
        raise cursor.error("The primary key of a table cannot change.", first)
    if len(columns) != len(spans) or not columns:
        raise cursor.fork(start).error("Only columns can be added or modified here.")
    return columns


def _change(cursor: Cursor, column: Column) -> ColumnChange:
    position: Literal["FIRST", "AFTER"] | None = None
    after = None
    if column.position is not None:
        position = "FIRST" if column.position[0] == "FIRST" else "AFTER"
        after = column.position[1]
    return ColumnChange(column.name, type_text(_type(cursor, column)), column.comment, position, after)


def _type(cursor: Cursor, column: Column) -> DataType:
    if column.type is None:
        place = [t for t in cursor.source.tokens if column.span.start <= t.start < column.span.end]
        raise cursor.error(f"The column '{column.name}' has no type that Paimon knows.", place[min(1, len(place) - 1)])
    return column.type

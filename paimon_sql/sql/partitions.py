"""Partition DDL, TRUNCATE and ANALYZE of our tables: Spark's grammar, which its rules for v2 tables cannot execute."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import (
    AddPartitions,
    AnalyzeTable,
    DropPartitions,
    PartitionSpec,
    ShowPartitions,
    TruncateTable,
)


def truncate_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``TRUNCATE TABLE t [PARTITION (a = 1)]``."""
    cursor.accept("TRUNCATE", "TABLE")
    table = context.table(cursor.names())
    spec = read_spec(cursor)
    return Carried(TruncateTable(table, spec), spark_parses=True) if table and cursor.done else None


def show_partitions(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``SHOW PARTITIONS t [PARTITION (a = 1)]``."""
    cursor.accept("SHOW", "PARTITIONS")
    table = context.table(cursor.names())
    spec = read_spec(cursor)
    return Carried(ShowPartitions(table, spec), spark_parses=True) if table and cursor.done else None


def add_or_drop_partitions(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``ALTER TABLE t ADD [IF NOT EXISTS] PARTITION (..) ..`` or ``DROP [IF EXISTS] PARTITION (..), ..``."""
    cursor.accept("ALTER", "TABLE")
    table = context.table(cursor.names())
    adds = cursor.accept("ADD")
    if table is None or not (adds or cursor.accept("DROP")):
        return None
    tolerant = cursor.accept("IF", "NOT", "EXISTS") if adds else cursor.accept("IF", "EXISTS")
    specs: list[PartitionSpec] = []
    while (spec := read_spec(cursor)) is not None:
        specs.append(spec)
        cursor.accept(",")
    cursor.accept("PURGE")
    if not specs or not cursor.done:
        return None
    if adds:
        return Carried(AddPartitions(table, tuple(specs), tolerant), spark_parses=True)
    return Carried(DropPartitions(table, tuple(specs), tolerant), spark_parses=True)


def analyze_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``ANALYZE TABLE t [PARTITION (..)] COMPUTE STATISTICS [NOSCAN | FOR ALL COLUMNS | FOR COLUMNS a, b]``."""
    cursor.accept("ANALYZE", "TABLE")
    table = context.table(cursor.names())
    if table is None:
        return None
    spec = read_spec(cursor, values=False)
    if not cursor.accept("COMPUTE", "STATISTICS"):
        return None
    columns: list[str] = []
    noscan = cursor.accept("NOSCAN")
    all_columns = cursor.accept("FOR", "ALL", "COLUMNS")
    if cursor.accept("FOR", "COLUMNS"):
        columns = [name for piece in cursor.split() if (name := piece.name())]
    if not cursor.done:
        return None
    return Carried(AnalyzeTable(table, spec, tuple(columns), all_columns, noscan), spark_parses=True)


def read_spec(cursor: Cursor, *, values: bool = True) -> PartitionSpec | None:
    """``PARTITION (a = 1, ..)`` at the cursor, and step over it; None, and no step, where none is.

    Args:
        cursor: where it is looked for.
        values: whether each column needs a value, which is kept as SQL.
    """
    ahead = cursor.fork()
    inside = ahead.group() if ahead.accept("PARTITION") else None
    if inside is None:
        return None
    spec: list[tuple[str, str | None]] = []
    for piece in inside.split():
        name = piece.name()
        value = piece.rest() if piece.accept("=|==") else None
        if name is None or not piece.done or (not value if values else value == ""):
            return None
        spec.append((name, value))
    cursor.position = ahead.position if spec else cursor.position
    return tuple(spec) or None

"""ANALYZE of our tables: Spark's grammar, which its rules for v2 tables cannot execute."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import AnalyzeTable, PartitionSpec


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

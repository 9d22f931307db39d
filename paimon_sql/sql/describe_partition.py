"""DESCRIBE of a partition, of which Spark tells less of the columns than of the table."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import DescribePartition


def describe_partition(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``DESCRIBE [TABLE] {EXTENDED | FORMATTED} t PARTITION (..)``."""
    cursor.accept("DESCRIBE|DESC")
    cursor.accept("TABLE")
    if not cursor.accept("EXTENDED|FORMATTED"):
        return None
    table = context.table(cursor.names())
    if table is None or not cursor.accept("PARTITION") or not context.partition_keys(table) or context.is_files(table):
        return None
    inside = cursor.group()
    if inside is None or not cursor.done:
        return None
    return Carried(DescribePartition(table, f"({inside.fork().rest()})"), spark_parses=True)

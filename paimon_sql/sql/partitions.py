"""Partition DDL that Spark's rules for v2 tables cannot execute."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.outcome import Carried, Outcome
from paimon_sql.sql.statements import DropPartitions, RepairPartitions


def drop_partitions(cursor: Cursor, table: TableName, context: RewriteContext) -> Outcome | None:
    """``DROP [IF EXISTS] PARTITION (a = 1), PARTITION (..) [PURGE]`` where one names some of the partition columns.

    None where each of them names all, which Spark does by itself.
    """
    cursor.accept("DROP")
    if_exists = cursor.accept("IF", "EXISTS")
    keys = len(context.partition_keys(table))
    partitions: list[str] = []
    is_spark = True
    while cursor.accept("PARTITION") or (partitions and cursor.accept(",", "PARTITION")):
        inside = cursor.group()
        if inside is None:
            return None
        partitions.append(f"({inside.fork().rest()})")
        is_spark = is_spark and len(inside.split()) >= keys
    cursor.accept("PURGE")
    if is_spark or not cursor.done:
        return None
    return Carried(DropPartitions(table, tuple(partitions), if_exists), spark_parses=True)


def repair_table(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``[MSCK] REPAIR TABLE t [{ADD | DROP | SYNC} PARTITIONS]``."""
    cursor.accept("MSCK")
    cursor.accept("REPAIR", "TABLE")
    table = context.table(cursor.names())
    if table is None:
        return None
    if cursor.accept("DROP", "PARTITIONS"):
        statement = RepairPartitions(table, "DROP")
    elif cursor.accept("SYNC", "PARTITIONS"):
        statement = RepairPartitions(table, "SYNC")
    else:
        cursor.accept("ADD", "PARTITIONS")
        statement = RepairPartitions(table)
    return Carried(statement, spark_parses=True) if cursor.done else None


def recover_partitions(cursor: Cursor, table: TableName) -> Outcome | None:
    """``ALTER TABLE t RECOVER PARTITIONS``, which is MSCK REPAIR TABLE by another name."""
    cursor.accept("RECOVER", "PARTITIONS")
    return Carried(RepairPartitions(table), spark_parses=True) if cursor.done else None

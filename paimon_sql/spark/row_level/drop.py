"""Deletes of tables whose merge engine takes none: the files of the keys are rewritten."""

from __future__ import annotations

from paimon_sql.format.snapshot import Operation, Snapshot
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.row_level.analysis import ChangedRows
from paimon_sql.spark.row_level.counts import Counts
from paimon_sql.sql.names import quote_name
from paimon_sql.storage.commit import operations
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import run_tasks
from paimon_sql.storage.read.hidden_columns import BUCKET
from paimon_sql.storage.row_level.conflicts import keys_unchanged
from paimon_sql.storage.row_level.drop_keys import check_seen, plan_drop, run_drop
from paimon_sql.storage.row_level.vectors import forget
from paimon_sql.storage.table import Table


def drop_keys(jvm: Jvm, table: Table, base: Snapshot | None, changed: ChangedRows) -> Counts:
    """Rewrite the files that hold keys of rows that are deleted.

    Args:
        jvm: the JVM.
        table: a table with a primary key.
        base: the snapshot that the rows were worked out from.
        changed: the rows, all of them deleted, with their bucket.

    Raises:
        UnsupportedError: rows wait for a compaction that no read shows yet.
        CommitConflictError: a rival has written rows of the same keys meanwhile, or rewritten the files.
    """
    check_seen(table, base)
    schema = table.schema
    names = dict.fromkeys([*schema.partition_keys, *schema.primary_keys, BUCKET.name])
    rows = changed.frame.select(*(quote_name(name) for name in names)).toArrow()
    if not len(rows):
        return Counts()
    tasks = plan_drop(table, base, rows, BUCKET.name)
    with Transaction(table, Operation.DELETE, base=base) as transaction:
        rewritten = transaction.staged.take(run_tasks(table, SparkExecutor(jvm), run_drop, tasks))
        messages = [m for m in rewritten if not m.is_empty()]
        gone = {f.file_name for m in messages for f in m.deleted_files}
        messages += forget(table, base, [t.entry for t in tasks if t.entry.file.file_name in gone])
        transaction.require(keys_unchanged(messages))
        operations.append(transaction, messages)
    return Counts(deleted=len(rows))

"""DELETE from tables whose merge engine does not support retractions: the files of the keys are rewritten."""

from __future__ import annotations

from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.row_level.analysis import ChangedRows
from paimon_sql.spark.row_level.counts import Counts
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import run_tasks
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import BUCKET
from paimon_sql.storage.row_level.conflicts import keys_unchanged
from paimon_sql.storage.row_level.drop_keys import check_no_invisible_rows, plan_drop, run_drop
from paimon_sql.storage.row_level.vectors import drop_vectors
from paimon_sql.storage.table.table import Table


def drop_keys(jvm: Jvm, table: Table, base: Snapshot | None, changed: ChangedRows) -> Counts:
    """Rewrite the files that contain keys of deleted rows, without these keys.

    Args:
        jvm: the JVM.
        table: a primary key table.
        base: the snapshot from which the rows were read.
        changed: the rows, all of them deleted, with their bucket.

    Raises:
        UnsupportedError: the table has rows that reads do not see before a compaction.
        CommitConflictError: a concurrent commit has written rows of the same keys, or rewritten the files.
    """
    check_no_invisible_rows(table, base)
    schema = table.schema
    names = dict.fromkeys([*schema.partition_keys, *schema.primary_keys, BUCKET.name])
    rows = changed.frame.select(*(quote_name(name) for name in names)).toArrow()
    if not len(rows):
        return Counts()
    tasks = plan_drop(table, base, rows, BUCKET.name)
    with Transaction(table, Operation.DELETE, base=base) as transaction:
        rewritten = transaction.staged.own(run_tasks(table, SparkExecutor(jvm), run_drop, tasks))
        messages = [m for m in rewritten if not m.is_empty()]
        deleted = {f.file_name for m in messages for f in m.deleted_files}
        messages += drop_vectors(table, base, [t.entry for t in tasks if t.entry.file.file_name in deleted])
        transaction.require(keys_unchanged(messages))
        operations.append(transaction, messages)
    return Counts(deleted=len(rows))

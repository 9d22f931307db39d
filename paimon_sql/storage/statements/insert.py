"""INSERT and INSERT OVERWRITE: rows are written to files, and committed together with the compactions that are due."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask


def insert(
    table: Table, batches: Iterable[pa.RecordBatch], executor: Executor, overwrite: Overwrite | None = None
) -> Snapshot | None:
    """Write rows with one writer, and commit them.

    Args:
        table: the table.
        batches: the rows, as `WriteTask.run` takes them.
        executor: runs compactions.
        overwrite: what the rows replace; None appends.

    Returns:
        The newest snapshot of the statement; None if it made none.

    Raises:
        PaimonError: a row does not fit the table, or the rows cannot be committed; all written files are deleted.
    """
    operation = Operation.WRITE if overwrite is None else Operation.OVERWRITE
    with Transaction(table, operation) as transaction:
        task = plan_write(table, overwrite)
        written = transaction.staged.own(task.run(batches))
        messages = transaction.staged.own(task.finalize(written, executor))
        return commit_write(transaction, task, messages, overwrite, executor)


def commit_write(
    transaction: Transaction,
    task: WriteTask,
    messages: Sequence[CommitMessage],
    overwrite: Overwrite | None,
    executor: Executor,
    compacted_as: Table | None = None,
) -> Snapshot | None:
    """Commit written rows together with due compactions; return the newest snapshot, None without any.

    Args:
        transaction: the transaction; it owns the files of the messages from here on.
        task: the task that wrote the rows.
        messages: the written files.
        overwrite: the rows that they replace; None appends.
        executor: runs the compactions.
        compacted_as: the table with the options that decide which compactions are due; by default the table itself.
    """
    table = transaction.table
    transaction.staged.own(messages)
    if overwrite is not None:
        overwrite.check_rows(table, messages)
    compacted = compact_due(compacted_as or table, messages, executor, overwrite, task.planned_on)
    transaction.require(*task.validations(messages))
    if overwrite is not None:
        return operations.overwrite(
            transaction,
            [*messages, *compacted],
            lambda latest: overwritten(table, latest, overwrite, messages),
            replaced_partitions=overwrite.replaces(table, {m.partition for m in messages}),
        )
    snapshots = operations.append(transaction, [*messages, *compacted])
    return snapshots[-1] if snapshots else None

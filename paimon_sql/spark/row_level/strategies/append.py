"""Changes of append tables: new rows are written, old ones marked, and marks become vectors or rewritten files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from paimon_sql.format.index_files.deletion_vectors import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.spark.execution.arrow_batches import unmeasured_batches
from paimon_sql.spark.execution.distribute import run_on_executors
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.execution.small_plans import few_rows
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.row_level.analysis import ChangedRows
from paimon_sql.spark.row_level.counts import CountedRows, Counts
from paimon_sql.spark.write.bucket_distribution import distribute_by_bucket
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import run_tasks
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.row_tracking import is_tracked
from paimon_sql.storage.row_level.marks import ChangeSplitter, joined, marked_files
from paimon_sql.storage.row_level.rewrite import plan_rewrite, run_rewrite
from paimon_sql.storage.row_level.strategy import RowLevelStrategy
from paimon_sql.storage.row_level.vectors import forget, mark, with_earlier
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.row_tracking import TrackedWriteTask
from paimon_sql.storage.write.task import WriteTask


@dataclass(frozen=True)
class _Share:
    """What one worker has done: the files of new rows, the places of old ones, and the rows by what becomes of them."""

    messages: list[CommitMessage]
    marks: Mapping[str, DeletionVector]
    counts: Counts


def change_append(
    jvm: Jvm, table: Table, base: Snapshot | None, changed: ChangedRows, operation: Operation, way: RowLevelStrategy
) -> Counts:
    """Write changed rows, take the old ones away and commit both.

    Args:
        jvm: the JVM.
        table: an append table.
        base: the snapshot that the rows were worked out from.
        changed: the rows, with their file and place.
        operation: the kind of statement.
        way: whether old rows are marked or their files rewritten.

    Raises:
        CommitConflictError: a rival has changed the same files meanwhile.
    """
    with Transaction(table, operation, base=base) as transaction:
        return _change(jvm, transaction, changed, way)


def _change(jvm: Jvm, transaction: Transaction, changed: ChangedRows, way: RowLevelStrategy) -> Counts:
    executor, table, base = SparkExecutor(jvm), transaction.table, transaction.base
    task = TrackedWriteTask(table) if is_tracked(table.schema) else plan_write(table)
    batches = few_rows(jvm, changed.frame)
    shares = [_share(task, batches)] if batches is not None else _shares(task, changed)
    staged = transaction.staged
    messages = list(task.settled(staged.take(m for s in shares for m in s.messages), executor))
    gone = marked_files(table, base, joined(s.marks for s in shares))
    if way is RowLevelStrategy.VECTORS:
        messages += staged.take(mark(table, base, gone))
    else:
        rewritten = plan_rewrite(table, with_earlier(table, base, gone))
        messages += staged.take(run_tasks(table, executor, run_rewrite, rewritten))
        messages += staged.take(forget(table, base, [e for e, _ in gone]))
    if messages:
        transaction.require(*task.validations(messages))
        operations.append(transaction, messages)
    return sum((s.counts for s in shares), Counts())


def _share(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> _Share:
    splitter, seen = ChangeSplitter(task.table.schema.names), CountedRows(batches)
    messages = task.run(splitter.new_rows(seen))
    return _Share(messages, splitter.marks, seen.counts)


def _shares(task: WriteTask, changed: ChangedRows) -> list[_Share]:
    with unmeasured_batches(changed.frame):
        writer, rows = distribute_by_bucket(task, changed.frame)
        return run_on_executors(task.table, rows, partial(_share, writer), lambda share: share.messages)

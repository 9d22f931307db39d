"""Row-level changes of append tables: new rows are written, old ones deleted by deletion vectors or copy-on-write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.spark.execution.distribute import few_rows, row_limited_batches, run_on_executors
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.row_level.changed_rows import ChangedRows, CountedRows, Counts
from paimon_sql.spark.write.bucket_distribution import distributed
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import run_tasks
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import is_tracked
from paimon_sql.storage.row_level.copy_on_write import plan_rewrite
from paimon_sql.storage.row_level.strategy import RowLevelStrategy
from paimon_sql.storage.row_level.vectors import (
    ChangeSplitter,
    drop_vectors,
    joined,
    mark,
    marked_files,
    with_existing_deletions,
)
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import TrackedWriteTask, WriteTask


@dataclass(frozen=True)
class _WorkerResult:
    """The result of one worker: the files of new rows, the positions of deleted ones, and the counts of rows."""

    messages: list[CommitMessage]
    marks: Mapping[str, DeletionVector]
    counts: Counts


def change_append(
    jvm: Jvm,
    table: Table,
    base: Snapshot | None,
    changed: ChangedRows,
    operation: Operation,
    strategy: RowLevelStrategy,
) -> Counts:
    """Write changed rows, delete the old ones, and commit both.

    Args:
        jvm: the JVM.
        table: an append table.
        base: the snapshot from which the rows were read.
        changed: the rows, with file and position.
        operation: the kind of statement.
        strategy: deletion vectors or copy-on-write.

    Raises:
        CommitConflictError: a concurrent commit has changed the same files.
    """
    with Transaction(table, operation, base=base) as transaction:
        return _change(jvm, transaction, changed, strategy)


def _change(jvm: Jvm, transaction: Transaction, changed: ChangedRows, strategy: RowLevelStrategy) -> Counts:
    executor, table, base = SparkExecutor(jvm), transaction.table, transaction.base
    task = TrackedWriteTask(table) if is_tracked(table.schema) else plan_write(table)
    batches = few_rows(jvm, changed.frame)
    results = [_write(task, batches)] if batches is not None else _write_on_executors(task, changed)
    staged = transaction.staged
    messages = list(task.finalize(staged.own(m for s in results for m in s.messages), executor))
    marked = marked_files(table, base, joined(s.marks for s in results))
    if strategy is RowLevelStrategy.VECTORS:
        messages += staged.own(mark(table, base, marked))
    else:
        rewritten = plan_rewrite(table, with_existing_deletions(table, base, marked))
        messages += staged.own(run_tasks(table, executor, rewritten))
        messages += staged.own(drop_vectors(table, base, [e for e, _ in marked]))
    if messages:
        transaction.require(*task.validations(messages))
        operations.append(transaction, messages)
    return sum((s.counts for s in results), Counts())


def _write(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> _WorkerResult:
    splitter, seen = ChangeSplitter(task.table.schema.names), CountedRows(batches)
    messages = task.run(splitter.new_rows(seen))
    return _WorkerResult(messages, splitter.marks, seen.counts)


def _write_on_executors(task: WriteTask, changed: ChangedRows) -> list[_WorkerResult]:
    with row_limited_batches(changed.frame):
        writer, rows = distributed(task, changed.frame)
        return run_on_executors(task.table, rows, partial(_write, writer), lambda result: result.messages)

"""DELETE: the rows that satisfy a condition are found, and deleted by the strategy of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.options.operations.changelog import DELETE_FORCE_PRODUCE_CHANGELOG
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due, run_tasks
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import BUCKET, FILE_PATH, ROW_INDEX
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.row_level import vectors
from paimon_sql.storage.row_level.change_keys import Change, keys_unchanged
from paimon_sql.storage.row_level.copy_on_write import (
    check_no_invisible_rows,
    plan_drop,
    plan_rewrite,
    remove_partitions,
)
from paimon_sql.storage.row_level.strategy import RowLevelLayout, RowLevelStrategy, check_columns
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.statements.retries import retried_on_conflict
from paimon_sql.storage.statements.selection import Attempt, Selection
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask


def delete(table: Table, predicate: Predicate | None, executor: Executor) -> int:
    """Delete the rows that satisfy a condition; return their number.

    Args:
        table: the table.
        predicate: the condition; None deletes all rows.
        executor: runs the tasks that find and rewrite rows.

    Raises:
        UnsupportedError: rows of the table cannot be deleted.
        CommitConflictError: concurrent commits changed the same rows during each attempt.
    """
    strategy = RowLevelLayout.of(table).row_level_strategy(table, Operation.DELETE, True)
    return retried_on_conflict(
        lambda: table,
        lambda table: _Deletion(Selection(table, table.snapshots.latest(), predicate), executor).run(strategy),
    )


def deletes_whole_partitions(table: Table) -> bool:
    """Whether rows may be deleted by dropping the files of their partitions, without a changelog of each row."""
    return not (table.schema.has_key and table.options.get(DELETE_FORCE_PRODUCE_CHANGELOG))


@dataclass(frozen=True)
class _Deletion(Attempt):
    """One attempt at a DELETE."""

    operation = Operation.DELETE

    def run(self, strategy: RowLevelStrategy) -> int:
        """Delete the rows; return their number."""
        if self.rows.base is None:
            return 0
        if self._selects_partitions():
            count = self._count()
            remove_partitions(self.table, self.rows.base, self.rows.predicate)
            return count
        if strategy is RowLevelStrategy.UPSERT:
            return self._by_key()
        if strategy is RowLevelStrategy.DROP_KEYS:
            return self._by_dropped_keys()
        return self._by_position(strategy)

    def _selects_partitions(self) -> bool:
        """Whether the condition is on partition columns alone."""
        if not deletes_whole_partitions(self.table):
            return False
        predicate = self.rows.predicate
        return predicate is None or predicate.columns() <= set(self.table.schema.partition_keys)

    def _count(self) -> int:
        """The number of rows of whole partitions."""
        plan = self.rows.plan(())
        if plan.counts_rows:
            return plan.row_count
        return sum(self.executor.run([CountTask(read) for read in self.rows.reads(())]))

    def _by_key(self) -> int:
        """Write the rows again, as deleted ones."""
        task, rows = plan_write(self.table), self.batches(self.table.schema.names)
        with self.transaction() as transaction:
            written = transaction.staged.own(task.run(map(Change(RowKind.DELETE).of, rows)))
            commit_changed_keys(transaction, task, task.finalize(written, self.executor), self.executor)
        return rows.count

    def _by_dropped_keys(self) -> int:
        check_columns(self.table, (BUCKET.name,))
        check_no_invisible_rows(self.table, self.rows.base)
        schema = self.table.schema
        names = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys, BUCKET.name]))
        found = list(self.batches(names))
        if not found:
            return 0
        rows = pa.Table.from_batches(found)
        with self.transaction() as transaction:
            drop_keys(transaction, rows, self.executor)
        return len(rows)

    def _by_position(self, strategy: RowLevelStrategy) -> int:
        check_columns(self.table, (FILE_PATH.name, ROW_INDEX.name))
        reads = self.rows.reads((FILE_PATH.name, ROW_INDEX.name))
        marks = vectors.joined(self.executor.run([MarkTask(read) for read in reads]))
        count = sum(vector.cardinality for vector in marks.values())
        with self.transaction() as transaction:
            if messages := delete_marked(transaction, marks, strategy, self.executor):
                operations.append(transaction, messages)
        return count


@dataclass(frozen=True)
class CountTask:
    """Counts the rows of a read."""

    read: ReadTask

    def run(self) -> int:
        """Return the number of rows."""
        return sum(batch.num_rows for batch in self.read.batches())


@dataclass(frozen=True)
class MarkTask:
    """Collects the files and positions of the rows of a read."""

    read: ReadTask

    def run(self) -> Mapping[str, DeletionVector]:
        """Return the positions by the path of their file."""
        splitter = vectors.ChangeSplitter(())
        for batch in self.read.batches():
            splitter.mark(batch)
        return splitter.marks


def commit_changed_keys(
    transaction: Transaction, task: WriteTask, messages: Iterable[CommitMessage], executor: Executor
) -> None:
    """Commit rows that were written in the place of those of their keys, with the compactions that become due.

    Args:
        transaction: the transaction, on the snapshot from which the rows were computed.
        task: the task that wrote them.
        messages: the written files; without any, nothing is committed.
        executor: runs the compactions.

    Raises:
        CommitConflictError: a concurrent commit has written rows of the same keys.
    """
    written = transaction.staged.own(messages)
    if written:
        compacted = compact_due(transaction.table, written, executor, planned_on=task.planned_on)
        transaction.require(keys_unchanged(written), *task.validations(written))
        operations.append(transaction, [*written, *compacted])


def delete_marked(
    transaction: Transaction, marks: Mapping[str, DeletionVector], strategy: RowLevelStrategy, executor: Executor
) -> list[CommitMessage]:
    """Write what deletes marked rows of an append table; return the messages to commit.

    Args:
        transaction: the transaction, on the snapshot in which the rows were found; it owns the written files.
        marks: the rows by the path of their file.
        strategy: deletion vectors or copy-on-write.
        executor: rewrites the files of a copy-on-write.
    """
    table, base, staged = transaction.table, transaction.base, transaction.staged
    marked = vectors.marked_files(table, base, marks)
    if strategy is not RowLevelStrategy.REWRITE:
        return staged.own(vectors.mark(table, base, marked))
    rewritten = plan_rewrite(table, vectors.with_existing_deletions(table, base, marked))
    messages = staged.own(run_tasks(table, executor, rewritten))
    return messages + staged.own(vectors.drop_vectors(table, base, [e for e, _ in marked]))


def drop_keys(transaction: Transaction, rows: pa.Table, executor: Executor) -> None:
    """Rewrite the files of a primary-key table that contain the keys of some rows, without these, and commit.

    Args:
        transaction: the transaction, on the snapshot in which the rows were found.
        rows: the key and partition columns, and the bucket of each row.
        executor: rewrites the files.

    Raises:
        CommitConflictError: a concurrent commit has written rows of the same keys, or rewritten the files.
    """
    table, base = transaction.table, transaction.base
    tasks = plan_drop(table, base, rows, BUCKET.name)
    rewritten = transaction.staged.own(run_tasks(table, executor, tasks))
    messages = [m for m in rewritten if not m.is_empty()]
    deleted = {f.file_name for m in messages for f in m.deleted_files}
    messages += vectors.drop_vectors(table, base, [t.entry for t in tasks if t.entry.file.file_name in deleted])
    transaction.require(keys_unchanged(messages))
    operations.append(transaction, messages)

"""UPDATE: the rows that satisfy a condition get new values, by the strategy of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND, RowKind
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import bucketed_groups
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.kernels.sorting import combined
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.indexes.drop_global_index import indexes_unchanged, outdated_indexes
from paimon_sql.storage.indexes.global_index import drop_messages
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import FILE_PATH, ROW_INDEX, is_tracked
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.row_level import vectors
from paimon_sql.storage.row_level.columns import ColumnTask, columns_unchanged
from paimon_sql.storage.row_level.strategy import RowLevelLayout, RowLevelStrategy, check_assigned, check_columns
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.statements.delete import commit_changed_keys, delete_marked
from paimon_sql.storage.statements.retries import retried_on_conflict
from paimon_sql.storage.statements.selection import Attempt, CountedBatches, Selection
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import TrackedWriteTask, WriteTask

Compute: TypeAlias = Callable[[pa.RecordBatch], pa.Array | pa.ChunkedArray | pa.Scalar]
"""Computes the new values of a column from rows with all columns of the table, one value per row."""


@dataclass(frozen=True)
class Assignments:
    """New values of columns.

    Attributes:
        values: by column, a value for all rows, or what computes those of some rows.
    """

    values: Mapping[str, pa.Scalar | Compute]

    @property
    def reads_rows(self) -> bool:
        """Whether a value is computed from the old ones."""
        return not all(isinstance(value, pa.Scalar) for value in self.values.values())

    def of(self, rows: pa.RecordBatch, columns: Sequence[str]) -> dict[str, pa.Array]:
        """Return columns with their new values.

        Args:
            rows: the old rows, with all columns of the table if values are computed.
            columns: the names of the columns to return; those that are not assigned are returned unchanged.

        Raises:
            InvalidInputError: there is not one value per row.
        """
        return {name: self._column(name, rows) for name in columns}

    def _column(self, name: str, rows: pa.RecordBatch) -> pa.Array:
        assigned = self.values.get(name)
        if assigned is None:
            return rows.column(name)
        made = assigned if isinstance(assigned, pa.Scalar) else assigned(rows)
        if isinstance(made, pa.Scalar):
            return pa.repeat(made, rows.num_rows)
        if not isinstance(made, pa.Array | pa.ChunkedArray) or len(made) != rows.num_rows:
            found = f"{len(made)} values" if isinstance(made, pa.Array | pa.ChunkedArray) else type(made).__name__
            raise InvalidInputError(
                f"Column '{name}': its function returned {found} for {rows.num_rows} rows.",
                remedy="Return an Arrow array with one value per row, or an Arrow scalar.",
            )
        return combined(made)


def update(table: Table, assignments: Assignments, predicate: Predicate | None, executor: Executor) -> int:
    """Update the rows that satisfy a condition; return their number.

    Args:
        table: the table.
        assignments: the new values.
        predicate: the condition; None updates all rows.
        executor: runs the tasks that rewrite rows.

    Raises:
        UnsupportedError: rows of the table cannot be updated, or not these columns.
        InvalidInputError: a value does not fit its column.
        CommitConflictError: concurrent commits changed the same rows during each attempt.
    """
    strategy = RowLevelLayout.of(table).row_level_strategy(table, Operation.UPDATE, False)
    if strategy is RowLevelStrategy.UPSERT:
        check_assigned(table, assignments.values.keys())
    else:
        check_columns(table, (FILE_PATH.name, ROW_INDEX.name))
    return retried_on_conflict(
        lambda: table,
        lambda table: _Update(Selection(table, table.snapshots.latest(), predicate), executor, assignments).run(
            strategy
        ),
    )


@dataclass(frozen=True)
class _Update(Attempt):
    """One attempt at an UPDATE."""

    operation = Operation.UPDATE
    assignments: Assignments

    def run(self, strategy: RowLevelStrategy) -> int:
        """Update the rows; return their number."""
        if self.rows.base is None:
            return 0
        if strategy is RowLevelStrategy.UPSERT:
            return self._by_key()
        if strategy is RowLevelStrategy.COLUMNS:
            return self._by_columns()
        return self._by_position(strategy)

    def _updated(self, extra: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows with their new values, then some metadata columns, and their kind."""
        names = self.table.schema.names
        for batch in self.batches((*names, *extra)):
            kinds = pa.array(np.full(batch.num_rows, int(RowKind.UPDATE_AFTER), np.int8))
            columns = self.assignments.of(batch.select(list(names)), names)
            columns |= {name: batch.column(name) for name in extra}
            yield pa.RecordBatch.from_pydict({**columns, VALUE_KIND.name: kinds})

    def _by_key(self) -> int:
        task, rows = plan_write(self.table), CountedBatches(self._updated(()))
        with self.transaction() as transaction:
            written = transaction.staged.own(task.run(rows))
            commit_changed_keys(transaction, task, task.finalize(written, self.executor), self.executor)
        return rows.count

    def _by_position(self, strategy: RowLevelStrategy) -> int:
        tracked = is_tracked(self.table.schema)
        task = TrackedWriteTask(self.table) if tracked else plan_write(self.table)
        splitter = vectors.ChangeSplitter(self.table.schema.names)
        rows = CountedBatches(self._updated((FILE_PATH.name, ROW_INDEX.name, *((ROW_ID.name,) if tracked else ()))))
        with self.transaction() as transaction:
            written = transaction.staged.own(task.run(splitter.new_rows(rows)))
            commit_replaced_rows(transaction, task, written, splitter.marks, strategy, self.executor)
        return rows.count

    def _by_columns(self) -> int:
        table, names = self.table, tuple(n for n in self.table.schema.names if n in self.assignments.values)
        read = table.schema.names if self.assignments.reads_rows else ()
        groups = tuple(bucketed_groups(table, self.rows.base, self.rows.predicate))
        write = ColumnTask(table, names, groups)
        tasks = [_SplitTask(task, self.assignments, write) for task in self.rows.reads((*read, ROW_ID.name))]
        with self.transaction() as transaction:
            done = transaction.staged.collect(self.executor.run(tasks), lambda changed: changed.messages)
            commit_changed_columns(transaction, write, [m for one in done for m in one.messages], {})
        return sum(one.rows for one in done)


@dataclass(frozen=True)
class _Changed:
    """The result of one task: the written files, and the number of rows."""

    messages: Sequence[CommitMessage]
    rows: int


@dataclass(frozen=True)
class _SplitTask:
    """Writes the new values of the rows of a split, whose groups of files it has to itself."""

    read: ReadTask
    assignments: Assignments
    write: ColumnTask

    def run(self) -> _Changed:
        """Write the columns; on an error all written files are deleted."""
        rows = CountedBatches(self.read.batches())
        with StagedFiles(self.write.table) as staged:
            messages = staged.own(self.write.run(map(self._columns, rows)))
            staged.release_all()
        return _Changed(messages, rows.count)

    def _columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        new = self.assignments.of(batch.drop_columns([ROW_ID.name]), self.write.columns)
        return pa.RecordBatch.from_pydict({**new, ROW_ID.name: batch.column(ROW_ID.name)})


def commit_replaced_rows(
    transaction: Transaction,
    task: WriteTask,
    messages: Iterable[CommitMessage],
    marks: Mapping[str, DeletionVector],
    strategy: RowLevelStrategy,
    executor: Executor,
) -> None:
    """Commit new rows of an append table together with the deletion of those that they replace.

    Args:
        transaction: the transaction, on the snapshot in which the old rows were found.
        task: the task that wrote the new rows.
        messages: the written files.
        marks: the old rows by the path of their file.
        strategy: deletion vectors or copy-on-write.
        executor: rewrites the files of a copy-on-write.

    Raises:
        CommitConflictError: a concurrent commit has changed the same files.
    """
    committed = list(task.finalize(transaction.staged.own(messages), executor))
    committed += delete_marked(transaction, marks, strategy, executor)
    if committed:
        transaction.require(*task.validations(committed))
        operations.append(transaction, committed)


def commit_changed_columns(
    transaction: Transaction,
    task: ColumnTask,
    messages: Iterable[CommitMessage],
    marks: Mapping[str, DeletionVector],
) -> None:
    """Commit changed columns of a table with data evolution, drop indexes on them, and delete marked rows.

    Args:
        transaction: the transaction, on the snapshot in which the rows were found.
        task: the task that wrote the columns.
        messages: the written files, also of new rows.
        marks: the rows to delete by the path of their file.

    Raises:
        CommitConflictError: a concurrent commit has changed the same columns of the same rows, or moved the rows.
    """
    table, base = transaction.table, transaction.base
    committed = transaction.staged.own(messages)
    replaced = outdated_indexes(table, base, committed, task.written)
    committed += transaction.staged.own(vectors.mark(table, base, vectors.marked_files(table, base, marks)))
    committed += drop_messages(replaced)
    if committed:
        transaction.require(columns_unchanged(committed), indexes_unchanged(committed, task.written))
        operations.append(transaction, committed)

"""Row-level changes of tables without a key: by position in files, or of columns by row id with data evolution.

New rows are written, old ones deleted by deletion vectors or copy-on-write. With data evolution changed columns are
written to files beside those of their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, col, spark_partition_id

from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND, RowKind
from paimon_sql.spark.execution.distribute import few_rows, row_limited_batches, run_on_executors
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.row_level.changed_rows import ChangedRows, CountedRows, Counts, RowChange, WorkerResult
from paimon_sql.spark.write.bucket_distribution import distributed, quoted
from paimon_sql.sql.statements.rows import MergeInto, Update
from paimon_sql.storage.columns.blobs_and_vectors import has_blobs
from paimon_sql.storage.compact.compaction import run_tasks
from paimon_sql.storage.data_files.live_files import bucketed_groups
from paimon_sql.storage.indexes.drop_global_index import indexes_unchanged, outdated_indexes
from paimon_sql.storage.indexes.global_index import drop_messages
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import FILE_PATH, ROW_INDEX, is_tracked
from paimon_sql.storage.row_level import vectors
from paimon_sql.storage.row_level.columns import ColumnTask, columns_unchanged
from paimon_sql.storage.row_level.copy_on_write import plan_rewrite
from paimon_sql.storage.row_level.strategy import RowLevelStrategy
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import TrackedWriteTask, WriteTask


def change_append(change: RowChange, strategy: RowLevelStrategy) -> Counts:
    """Write the changed rows of an append table, delete the old ones, and commit both.

    Args:
        change: the change, of rows with file and position.
        strategy: deletion vectors or copy-on-write.

    Raises:
        CommitConflictError: a concurrent commit has changed the same files.
    """
    table, base, changed, executor = change.table, change.base, change.rows, SparkExecutor(change.jvm)
    with change.transaction() as transaction:
        task = TrackedWriteTask(table) if is_tracked(table.schema) else plan_write(table)
        batches = few_rows(change.jvm, changed.frame)
        results = [_write(task, batches)] if batches is not None else _write_on_executors(task, changed)
        staged = transaction.staged
        messages = list(task.finalize(staged.own(m for s in results for m in s.messages), executor))
        marked = vectors.marked_files(table, base, vectors.joined(s.marks for s in results))
        if strategy is RowLevelStrategy.VECTORS:
            messages += staged.own(vectors.mark(table, base, marked))
        else:
            rewritten = plan_rewrite(table, vectors.with_existing_deletions(table, base, marked))
            messages += staged.own(run_tasks(table, executor, rewritten))
            messages += staged.own(vectors.drop_vectors(table, base, [e for e, _ in marked]))
        if messages:
            transaction.require(*task.validations(messages))
            operations.append(transaction, messages)
    return Counts.of(results)


def _write(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> WorkerResult:
    splitter, seen = vectors.ChangeSplitter(task.table.schema.names), CountedRows(batches)
    messages = task.run(splitter.new_rows(seen))
    return WorkerResult(messages, seen.counts, splitter.marks)


def _write_on_executors(task: WriteTask, changed: ChangedRows) -> list[WorkerResult]:
    with row_limited_batches(changed.frame):
        writer, rows = distributed(task, changed.frame)
        return run_on_executors(task.table, rows, partial(_write, writer), lambda result: result.messages)


def set_columns(table: Table, statement: Update | MergeInto) -> tuple[str, ...]:
    """Return the columns that a statement may change in existing rows, in the table's order.

    A column may be qualified by the table's name, and followed by the name of a nested field; if it is ambiguous, all
    candidates are returned, since an extra column does no harm.
    """
    if isinstance(statement, Update):
        assignments = statement.assignments
    else:
        updates = [c for c in statement.clauses if c.action.startswith("UPDATE")]
        if any(c.action == "UPDATE *" for c in updates):
            return table.schema.names
        assignments = tuple(a for c in updates for a in c.assignments)
    assigned = {part.lower() for a in assignments for part in a.column}
    return tuple(name for name in table.schema.names if name.lower() in assigned)


@dataclass(frozen=True)
class _WorkerTask:
    """The tasks of a worker for changed rows, which are sorted by row id."""

    columns: ColumnTask
    new_rows: WriteTask

    def run(self, batches: Iterable[pa.RecordBatch]) -> WorkerResult:
        """Write columns of updated rows, and new rows; on an error all written files are deleted."""
        names = self.columns.table.schema.names
        splitter, seen = vectors.ChangeSplitter(names), CountedRows(batches)
        writer = self.new_rows.writer()
        messages: list[CommitMessage] = []

        def updated() -> Iterator[pa.RecordBatch]:
            for batch in seen:
                kinds = batch.column(VALUE_KIND.name)
                deleted = batch.filter(pc.equal(kinds, RowKind.DELETE))
                if deleted.num_rows:
                    splitter.mark(deleted)
                fresh = batch.filter(pc.equal(kinds, RowKind.INSERT))
                if fresh.num_rows:
                    for rows in self.new_rows.prepared([fresh.select(names)]):
                        writer.write(rows)
                yield batch.filter(pc.equal(kinds, RowKind.UPDATE_AFTER))

        try:
            with StagedFiles(self.columns.table) as staged:
                messages += staged.own(self.columns.run(updated()))
                messages += writer.close()
                staged.release_all()
        except BaseException:
            writer.abort()
            raise
        return WorkerResult(messages, seen.counts, splitter.marks)


def change_columns(change: RowChange, statement: Update | MergeInto) -> Counts:
    """Write changed columns and new rows, delete old rows by deletion vectors, and commit all of it.

    Args:
        change: the change of a table with data evolution, of rows with file, position and row id.
        statement: the UPDATE or MERGE.

    Raises:
        CommitConflictError: a concurrent commit has changed the same columns of the same rows, or moved the rows.
    """
    table, base, scan = change.table, change.base, change.target.scan
    columns = set_columns(table, statement)
    # Columns that are not written need not be read, nor sent to the writers.
    carried = columns if isinstance(statement, Update) else table.schema.names
    names = (*carried, FILE_PATH.name, ROW_INDEX.name, ROW_ID.name, VALUE_KIND.name)
    frame = change.rows.frame.select(*(quoted(name) for name in names))
    batches = few_rows(change.jvm, frame)
    groups = tuple(bucketed_groups(table, base, scan.request.predicate if scan is not None else None))
    task = _WorkerTask(ColumnTask(table, columns, groups), plan_write(table))
    with change.transaction() as transaction:
        results = [task.run(_by_id(batches))] if batches is not None else _run_on_executors(table, task, frame)
        messages = transaction.staged.own(m for s in results for m in s.messages)
        replaced = outdated_indexes(table, base, messages, task.columns.written)
        marks = vectors.marked_files(table, base, vectors.joined(s.marks for s in results))
        messages += transaction.staged.own(vectors.mark(table, base, marks))
        messages += drop_messages(replaced)
        if messages:
            transaction.require(columns_unchanged(messages), indexes_unchanged(messages, task.columns.written))
            operations.append(transaction, messages)
    return Counts.of(results)


def _by_id(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).sort_by(ROW_ID.name).to_batches() if batches else []


def _run_on_executors(table: Table, task: _WorkerTask, frame: DataFrame) -> list[WorkerResult]:
    """Write all rows of a file by one worker; new rows, which have no file yet, stay in their partition."""
    with row_limited_batches(frame, blobs=has_blobs(table.schema.fields)):
        owner = coalesce(col(FILE_PATH.name), spark_partition_id().cast("string"))
        rows = frame.repartition(owner).sortWithinPartitions(ROW_ID.name)
        return run_on_executors(table, rows, task.run, lambda result: result.messages)

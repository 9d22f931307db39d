"""Row-level changes with data evolution: changed columns are written to files beside those of their rows, by row id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, col, spark_partition_id

from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND, RowKind
from paimon_sql.spark.execution.distribute import few_rows, row_limited_batches, run_on_executors
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.row_level.changed_rows import ChangedRows, CountedRows, Counts
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.spark.write.bucket_distribution import quoted
from paimon_sql.sql.statements.rows import MergeInto, Update
from paimon_sql.storage.columns.blobs_and_vectors import has_blobs
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import bucketed_groups
from paimon_sql.storage.indexes.drop_global_index import indexes_unchanged, outdated_indexes
from paimon_sql.storage.indexes.global_index import drop_messages
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import FILE_PATH, ROW_INDEX
from paimon_sql.storage.row_level.columns import ColumnTask, columns_unchanged
from paimon_sql.storage.row_level.vectors import ChangeSplitter, joined, mark, marked_files
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask


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
class _WorkerResult:
    """The result of one worker: the written files, the positions of deleted rows, and the counts of rows."""

    messages: list[CommitMessage]
    marks: Mapping[str, DeletionVector]
    counts: Counts


@dataclass(frozen=True)
class _WorkerTask:
    """The tasks of a worker for changed rows, which are sorted by row id."""

    columns: ColumnTask
    new_rows: WriteTask

    def run(self, batches: Iterable[pa.RecordBatch]) -> _WorkerResult:
        """Write columns of updated rows, and new rows; on an error all written files are deleted."""
        names = self.columns.table.schema.names
        splitter, seen = ChangeSplitter(names), CountedRows(batches)
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
        return _WorkerResult(messages, splitter.marks, seen.counts)


def change_columns(
    jvm: Jvm,
    table: Table,
    base: Snapshot | None,
    changed: ChangedRows,
    statement: Update | MergeInto,
    operation: Operation,
    target: TargetProxy,
) -> Counts:
    """Write changed columns and new rows, delete old rows by deletion vectors, and commit all of it.

    Args:
        jvm: the JVM.
        table: a table with data evolution.
        base: the snapshot from which the rows were read.
        changed: the rows, with file, position and row id.
        statement: the UPDATE or MERGE.
        operation: its kind.
        target: the table from which the rows are read.

    Raises:
        CommitConflictError: a concurrent commit has changed the same columns of the same rows, or moved the rows.
    """
    columns = set_columns(table, statement)
    # Columns that are not written need not be read, nor sent to the writers.
    carried = columns if isinstance(statement, Update) else table.schema.names
    names = (*carried, FILE_PATH.name, ROW_INDEX.name, ROW_ID.name, VALUE_KIND.name)
    frame = changed.frame.select(*(quoted(name) for name in names))
    batches = few_rows(jvm, frame)
    predicate = target.scan.request.predicate if target.scan is not None else None
    groups = tuple(bucketed_groups(table, base, predicate))
    task = _WorkerTask(ColumnTask(table, columns, groups), plan_write(table))
    with Transaction(table, operation, base=base) as transaction:
        results = [task.run(_by_id(batches))] if batches is not None else _run_on_executors(table, task, frame)
        messages = transaction.staged.own(m for s in results for m in s.messages)
        replaced = outdated_indexes(table, base, messages, task.columns.written)
        marks = marked_files(table, base, joined(s.marks for s in results))
        messages += transaction.staged.own(mark(table, base, marks))
        messages += drop_messages(replaced)
        if messages:
            transaction.require(columns_unchanged(messages), indexes_unchanged(messages, task.columns.written))
            operations.append(transaction, messages)
    return sum((s.counts for s in results), Counts())


def _by_id(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).sort_by(ROW_ID.name).to_batches() if batches else []


def _run_on_executors(table: Table, task: _WorkerTask, frame: DataFrame) -> list[_WorkerResult]:
    """Write all rows of a file by one worker; new rows, which have no file yet, stay in their partition."""
    with row_limited_batches(frame, blobs=has_blobs(table.schema.fields)):
        owner = coalesce(col(FILE_PATH.name), spark_partition_id().cast("string"))
        rows = frame.repartition(owner).sortWithinPartitions(ROW_ID.name)
        return run_on_executors(table, rows, partial(_run, task), lambda result: result.messages)


def _run(task: _WorkerTask, batches: Iterable[pa.RecordBatch]) -> _WorkerResult:
    return task.run(batches)

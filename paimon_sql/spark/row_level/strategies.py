"""Row-level strategies: how changed rows are written and committed.

Tables without a key: new rows are written, old ones deleted by deletion vectors or copy-on-write. With data evolution
changed columns are written to files beside those of their rows, by row id. Primary key tables: upserts, or rewritten
files if the merge engine knows no retractions.

Workers import this module, so it imports nothing of the dialect, whose grammar takes long to import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import coalesce, col, count_if, spark_partition_id

from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND, RowKind
from paimon_sql.spark.execution.distribute import few_rows, row_limited_batches, run_on_executors
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.expressions.predicates import expression_text, translate_values
from paimon_sql.spark.java.catalyst import Expression, LogicalPlan
from paimon_sql.spark.java.objects import Seq
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.row_level.changed_rows import (
    ChangedRows,
    CountedRows,
    Counts,
    RowChange,
    Rows,
    WorkerResult,
    rows_of_scan,
)
from paimon_sql.spark.write.bucket_distribution import distributed
from paimon_sql.spark.write.job import write_rows
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.columns.blobs_and_vectors import has_blobs
from paimon_sql.storage.data_files.live_files import bucketed_groups
from paimon_sql.storage.read.metadata_columns import BUCKET, FILE_PATH, PARTITION, ROW_INDEX, is_tracked
from paimon_sql.storage.row_level import vectors
from paimon_sql.storage.row_level.change_keys import Change, change_read
from paimon_sql.storage.row_level.columns import ColumnTask
from paimon_sql.storage.row_level.copy_on_write import check_no_invisible_rows
from paimon_sql.storage.row_level.strategy import RowLevelStrategy
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.statements.delete import commit_changed_keys, drop_keys
from paimon_sql.storage.statements.update import commit_changed_columns, commit_replaced_rows
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bound_partition_keys, bucket_mode
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
    table, changed, executor = change.table, change.rows, SparkExecutor(change.jvm)
    with change.transaction() as transaction:
        task = TrackedWriteTask(table) if is_tracked(table.schema) else plan_write(table)
        batches = few_rows(change.jvm, changed.frame)
        results = [_write(task, batches)] if batches is not None else _write_on_executors(task, changed)
        messages = (m for s in results for m in s.messages)
        commit_replaced_rows(transaction, task, messages, vectors.joined(s.marks for s in results), strategy, executor)
    return Counts.of(results)


def _write(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> WorkerResult:
    splitter, seen = vectors.ChangeSplitter(task.table.schema.names), CountedRows(batches)
    messages = task.run(splitter.new_rows(seen))
    return WorkerResult(messages, seen.counts, splitter.marks)


def _write_on_executors(task: WriteTask, changed: ChangedRows) -> list[WorkerResult]:
    with row_limited_batches(changed.frame):
        writer, rows = distributed(task, changed.frame)
        work = rows.worker(partial(_write, writer))
        return run_on_executors(task.table, rows.frame, work, lambda result: result.messages)


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


def change_columns(change: RowChange, columns: tuple[str, ...]) -> Counts:
    """Write changed columns and new rows, delete old rows by deletion vectors, and commit all of it.

    Args:
        change: the change of a table with data evolution, of rows with file, position and row id.
        columns: the columns that the UPDATE or MERGE may change in existing rows, in the table's order.

    Raises:
        CommitConflictError: a concurrent commit has changed the same columns of the same rows, or moved the rows.
    """
    table, base, scan = change.table, change.base, change.target.scan
    # Columns that are not written need not be read, nor sent to the writers.
    carried = columns if change.operation is Operation.UPDATE else table.schema.names
    names = (*carried, FILE_PATH.name, ROW_INDEX.name, ROW_ID.name, VALUE_KIND.name)
    frame = change.rows.frame.select(*(quote_name(name) for name in names))
    batches = few_rows(change.jvm, frame)
    groups = tuple(bucketed_groups(table, base, scan.request.predicate if scan is not None else None))
    task = _WorkerTask(ColumnTask(table, columns, groups), plan_write(table))
    with change.transaction() as transaction:
        results = [task.run(_by_id(batches))] if batches is not None else _run_on_executors(table, task, frame)
        messages = (m for s in results for m in s.messages)
        commit_changed_columns(transaction, task.columns, messages, vectors.joined(s.marks for s in results))
    return Counts.of(results)


def _by_id(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).sort_by(ROW_ID.name).to_batches() if batches else []


def _run_on_executors(table: Table, task: _WorkerTask, frame: DataFrame) -> list[WorkerResult]:
    """Write all rows of a file by one worker; new rows, which have no file yet, stay in their partition."""
    with row_limited_batches(frame, blobs=has_blobs(table.schema.fields)):
        owner = coalesce(col(FILE_PATH.name), spark_partition_id().cast("string"))
        rows = frame.repartition(owner).sortWithinPartitions(ROW_ID.name)
        return run_on_executors(table, rows, task.run, lambda result: result.messages)


def upsert(change: RowChange) -> Counts:
    """Write changed rows and commit them.

    Raises:
        CommitConflictError: a concurrent commit has written rows of the same keys.
    """
    table, changed, operation = change.table, change.rows, change.operation
    before = {column: quote_name(old) for column, old in changed.id_before.items()}
    if operation is Operation.MERGE:
        before |= {c: f"{PARTITION}.{quote_name(c)}" for c in bound_partition_keys(table.schema)}
    key_changes = " OR ".join(f"NOT {quote_name(column)} <=> {old}" for column, old in before.items())
    kind = quote_name(VALUE_KIND.name)
    if key_changes:
        of = "the primary key" if before.keys() == changed.id_before.keys() else "the primary key or the partition"
        message = f"{table.name}: the statement would change column {', '.join(before)} of {of}"
        checked = (
            f"CASE WHEN {kind} = {int(RowKind.UPDATE_AFTER)} AND ({key_changes}) THEN"
            f" raise_error('{message.replace(chr(39), '')} of a row.') ELSE {kind} END {kind}"
        )
    else:
        checked = kind
    frame = changed.frame.selectExpr(*(quote_name(c) for c in table.schema.names), checked)
    task = plan_write(table)
    with change.transaction() as transaction:
        written, counts = _write_upserts(change, task, frame)
        commit_changed_keys(transaction, task, written, SparkExecutor(change.jvm))
    return counts


def _write_upserts(change: RowChange, task: WriteTask, frame: DataFrame) -> tuple[list[CommitMessage], Counts]:
    """Write the rows where it is cheapest: where they were read, on the driver, or by the owners of their buckets."""
    jvm, executor = change.jvm, SparkExecutor(change.jvm)
    rows, scan = rows_of_scan(frame), change.target.scan
    buckets = scan.buckets if scan is not None and bucket_mode(task.table.schema).is_fixed else None
    computed = _computed(jvm, task.table, frame, change.operation) if buckets and rows is Rows.ALL else None
    if buckets and computed is not None:
        reads = [[replace(read, columns=task.table.schema.names) for read in bucket] for bucket in buckets]
        changed = change_read(task, reads, computed, executor)
        if changed is not None:
            deleted = change.operation is Operation.DELETE
            counts = Counts(deleted=changed.rows) if deleted else Counts(updated=changed.rows)
            return list(task.finalize(changed.messages, executor)), counts
    batches = few_rows(jvm, frame)
    if batches is not None:
        results = [_write_counted(task, batches)]
    elif buckets is not None and rows is not Rows.OTHERS:
        with row_limited_batches(frame):
            results = run_on_executors(task.table, frame, partial(_write_counted, task), lambda result: result.messages)
    else:
        return _exchange(jvm, task, frame)
    messages = [message for result in results for message in result.messages]
    return list(task.finalize(messages, executor)), Counts.of(results)


def _computed(jvm: Jvm, table: Table, frame: DataFrame, operation: Operation) -> Change | None:
    """The change of the scanned rows as the storage core can compute it; None if only Spark can."""
    if operation is Operation.DELETE:
        return Change(RowKind.DELETE)
    plan: LogicalPlan = frame._jdf.queryExecution().optimizedPlan()
    if plan.getClass().getSimpleName() != "Project" or plan.child().getClass().getSimpleName() == "Project":
        return None
    projected: Seq[Expression] = plan.projectList()
    *values, _ = jvm.items(projected)
    found = translate_values(expression_text(jvm, jvm.seq(values)), table.schema.fields)
    return None if found is None else Change(RowKind.UPDATE_AFTER, found)


def _write_counted(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> WorkerResult:
    rows = CountedRows(batches)
    messages = task.run(rows)
    return WorkerResult(messages, rows.counts)


def _exchange(jvm: Jvm, task: WriteTask, frame: DataFrame) -> tuple[list[CommitMessage], Counts]:
    observation = Observation()
    kinds = {"updated": RowKind.UPDATE_AFTER, "deleted": RowKind.DELETE, "inserted": RowKind.INSERT}
    counted = [count_if(col(VALUE_KIND.name) == int(k)).alias(name) for name, k in kinds.items()]
    messages = write_rows(jvm, task, frame.observe(observation, *counted))
    # Spark observes nothing in a plan that it knows to be empty.
    return messages, Counts(**observation.get) if messages else Counts()


def drop_changed_keys(change: RowChange) -> Counts:
    """Rewrite the files that contain keys of deleted rows, without these keys.

    Args:
        change: the change, of rows that are all deleted, with their bucket.

    Raises:
        UnsupportedError: the table has rows that reads do not see before a compaction.
        CommitConflictError: a concurrent commit has written rows of the same keys, or rewritten the files.
    """
    schema = change.table.schema
    check_no_invisible_rows(change.table, change.base)
    names = dict.fromkeys([*schema.partition_keys, *schema.primary_keys, BUCKET.name])
    rows = change.rows.frame.select(*(quote_name(name) for name in names)).toArrow()
    if not len(rows):
        return Counts()
    with change.transaction() as transaction:
        drop_keys(transaction, rows, SparkExecutor(change.jvm))
    return Counts(deleted=len(rows))

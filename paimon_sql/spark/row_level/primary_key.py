"""Row-level changes of primary key tables: upserts, or rewritten files if the merge engine knows no retractions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import col, count_if

from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.spark.execution.distribute import few_rows, row_limited_batches, run_on_executors
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.expressions.predicates import expression_text, translate_values
from paimon_sql.spark.java.catalyst import Expression, LogicalPlan
from paimon_sql.spark.java.objects import Seq
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.row_level.changed_rows import (
    CountedRows,
    Counts,
    RowChange,
    Rows,
    WorkerResult,
    rows_of_scan,
)
from paimon_sql.spark.write.job import write_rows
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.compact.compaction import compact_due, run_tasks
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.metadata_columns import BUCKET, PARTITION
from paimon_sql.storage.row_level.change_keys import Change, change_read, keys_unchanged
from paimon_sql.storage.row_level.copy_on_write import check_no_invisible_rows, plan_drop
from paimon_sql.storage.row_level.vectors import drop_vectors
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bound_partition_keys, bucket_mode
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.task import WriteTask


def upsert(change: RowChange) -> Counts:
    """Write changed rows and commit them.

    Raises:
        CommitConflictError: a concurrent commit has written rows of the same keys.
    """
    jvm, table, changed, operation = change.jvm, change.table, change.rows, change.operation
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
        written, counts = _write(change, task, frame)
        if messages := transaction.staged.own(written):
            compacted = compact_due(table, messages, SparkExecutor(jvm), planned_on=task.planned_on)
            transaction.require(keys_unchanged(messages), *task.validations(messages))
            operations.append(transaction, [*messages, *compacted])
    return counts


def _write(change: RowChange, task: WriteTask, frame: DataFrame) -> tuple[list[CommitMessage], Counts]:
    """Write the rows where it is cheapest: where they were read, on the driver, or by the owners of their buckets."""
    jvm, executor, rows, scan = change.jvm, SparkExecutor(change.jvm), rows_of_scan(frame), change.target.scan
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


def drop_keys(change: RowChange) -> Counts:
    """Rewrite the files that contain keys of deleted rows, without these keys.

    Args:
        change: the change, of rows that are all deleted, with their bucket.

    Raises:
        UnsupportedError: the table has rows that reads do not see before a compaction.
        CommitConflictError: a concurrent commit has written rows of the same keys, or rewritten the files.
    """
    table, base = change.table, change.base
    check_no_invisible_rows(table, base)
    schema = table.schema
    names = dict.fromkeys([*schema.partition_keys, *schema.primary_keys, BUCKET.name])
    rows = change.rows.frame.select(*(quote_name(name) for name in names)).toArrow()
    if not len(rows):
        return Counts()
    tasks = plan_drop(table, base, rows, BUCKET.name)
    with change.transaction() as transaction:
        rewritten = transaction.staged.own(run_tasks(table, SparkExecutor(change.jvm), tasks))
        messages = [m for m in rewritten if not m.is_empty()]
        deleted = {f.file_name for m in messages for f in m.deleted_files}
        messages += drop_vectors(table, base, [t.entry for t in tasks if t.entry.file.file_name in deleted])
        transaction.require(keys_unchanged(messages))
        operations.append(transaction, messages)
    return Counts(deleted=len(rows))

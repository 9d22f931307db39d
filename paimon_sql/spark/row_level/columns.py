"""Changes of tables with data evolution: changed columns go into files beside those of the rows, by the rows' ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, col, spark_partition_id

from paimon_sql.format.deletion_vectors import DeletionVector
from paimon_sql.format.row_kind import RowKind
from paimon_sql.format.snapshot import Operation, Snapshot
from paimon_sql.format.special_fields import ROW_ID, VALUE_KIND
from paimon_sql.spark.arrow_batches import unmeasured_batches
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.row_level.analysis import ChangedRows
from paimon_sql.spark.row_level.counts import CountedRows, Counts
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.spark.shares import shared_out
from paimon_sql.spark.small_plans import few_rows
from paimon_sql.spark.table_columns import quoted
from paimon_sql.sql.statements.rows import MergeInto, Update
from paimon_sql.storage.blob_columns import has_blobs
from paimon_sql.storage.commit import operations
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.commit.staged_files import StagedFiles
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.global_index.build import dropped
from paimon_sql.storage.global_index.drop import indexes_unchanged, outdated
from paimon_sql.storage.read.hidden_columns import FILE_PATH, ROW_INDEX
from paimon_sql.storage.row_level.columns import ColumnTask, columns_unchanged
from paimon_sql.storage.row_level.marks import ChangeSplitter, joined, marked_files
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.scan.placed_groups import placed_groups
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.task import plan_write
from paimon_sql.storage.write.write_task import WriteTask


def set_columns(table: Table, statement: Update | MergeInto) -> tuple[str, ...]:
    """The columns that a statement may change in rows that are there, in the table's order.

    A name may be preceded by the table's, and followed by a field's; if it may mean several columns all of them count,
    as writing one more than is needed does no harm.
    """
    if isinstance(statement, Update):
        assignments = statement.assignments
    else:
        updates = [c for c in statement.clauses if c.action.startswith("UPDATE")]
        if any(c.action == "UPDATE *" for c in updates):
            return table.schema.names
        assignments = tuple(a for c in updates for a in c.assignments)
    said = {part.lower() for a in assignments for part in a.column}
    return tuple(name for name in table.schema.names if name.lower() in said)


@dataclass(frozen=True)
class _Share:
    """What one worker has done: the files it wrote, the places of rows that go, and how many rows changed."""

    messages: list[CommitMessage]
    marks: Mapping[str, DeletionVector]
    counts: Counts


@dataclass(frozen=True)
class _Work:
    """What becomes of changed rows, which come in the order of their ids."""

    columns: ColumnTask
    new_rows: WriteTask

    def share(self, batches: Iterable[pa.RecordBatch]) -> _Share:
        """Write columns of updated rows and new rows; on an error nothing is left."""
        names = self.columns.table.schema.names
        splitter, seen = ChangeSplitter(names), CountedRows(batches)
        writer = self.new_rows.writer()
        done: list[CommitMessage] = []

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
                done += staged.take(self.columns.run(updated()))
                done += writer.close()
                staged.release_all()
        except BaseException:
            writer.abort()
            raise
        return _Share(done, splitter.marks, seen.counts)


def change_columns(
    jvm: Jvm,
    table: Table,
    base: Snapshot | None,
    changed: ChangedRows,
    statement: Any,
    operation: Operation,
    target: TargetProxy,
) -> Counts:
    """Write changed columns and new rows, mark rows that go, and commit all of it.

    Args:
        jvm: the JVM.
        table: a table with data evolution.
        base: the snapshot that the rows were worked out from.
        changed: the rows, with their file, place and id.
        statement: the UPDATE or MERGE.
        operation: its kind.
        target: what the rows are read from.

    Raises:
        CommitConflictError: a rival has changed the same columns of the same rows meanwhile, or moved the rows.
    """
    columns = set_columns(table, statement)
    # Columns that nobody writes need not be read, nor be brought to the writers.
    carried = columns if isinstance(statement, Update) else table.schema.names
    kept = (*carried, FILE_PATH.name, ROW_INDEX.name, ROW_ID.name, VALUE_KIND.name)
    frame = changed.frame.select(*(quoted(name) for name in kept))
    batches = few_rows(jvm, frame)
    predicate = target.scan.predicate if target.scan is not None else None
    groups = tuple(placed_groups(table, base, predicate))
    work = _Work(ColumnTask(table, columns, groups), plan_write(table))
    with Transaction(table, operation, base=base) as transaction:
        shares = [work.share(_by_id(batches))] if batches is not None else _shares(table, work, frame)
        messages = transaction.staged.take(m for s in shares for m in s.messages)
        gone = outdated(table, base, messages, work.columns.written)
        marks = marked_files(table, base, joined(s.marks for s in shares))
        messages += transaction.staged.take(mark(table, base, marks))
        messages += dropped(gone)
        if messages:
            transaction.require(columns_unchanged(messages), indexes_unchanged(messages, work.columns.written))
            operations.append(transaction, messages)
    return sum((s.counts for s in shares), Counts())


def _by_id(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).sort_by(ROW_ID.name).to_batches() if batches else []


def _shares(table: Table, work: _Work, frame: DataFrame) -> list[_Share]:
    """Each file's rows go to one worker; new rows, which have none yet, stay where they are."""
    with unmeasured_batches(frame, blobs=has_blobs(table.schema.fields)):
        owner = coalesce(col(FILE_PATH.name), spark_partition_id().cast("string"))
        rows = frame.repartition(owner).sortWithinPartitions(ROW_ID.name)
        return shared_out(table, rows, partial(_share, work), lambda share: share.messages)


def _share(work: _Work, batches: Iterable[pa.RecordBatch]) -> _Share:
    return work.share(batches)

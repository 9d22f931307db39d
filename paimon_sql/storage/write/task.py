"""Write tasks: how one writer writes its rows, sent to a worker; updates of tracked rows keep their row ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.schema.system_fields import BUCKET, ROW_ID, SEQUENCE_NUMBER, TRACKED, VALUE_KIND, RowKind
from paimon_sql.storage.columns.defaults import default_scalars, fill_defaults
from paimon_sql.storage.commit.checks.history import follows
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Validation
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.partitions import Router, conform_batch
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.distribution import Rows, by_bucket
from paimon_sql.storage.write.rolling import aborted_on_error
from paimon_sql.storage.write.row_preparation import check_references, cut_to_precision
from paimon_sql.storage.write.settings import TrackedSettings
from paimon_sql.storage.write.writers import AppendWriter, KeyValueWriter, Target

SYSTEM = {f.name: f for f in (VALUE_KIND, BUCKET, *TRACKED)}
"""Columns that rows may have after those of the table."""


class WriteLayout(TableLayout):
    """Facet of table layouts: how rows are written.

    Class attributes:
        writer: the class of writers of new rows.
        orders_rows: whether sequence numbers order the rows of a key, so that they must follow those that are there.
    """

    writer: ClassVar[type[AppendWriter] | type[KeyValueWriter]]
    orders_rows: ClassVar[bool] = False


@dataclass(frozen=True)
class WriteTask:
    """Writes rows to files.

    Attributes:
        table: the table.
        sequences: the max sequence number by partition and bucket.
        planned_on: the latest snapshot when the write was planned; None for an empty table.
        needs_sequences: whether the rows continue the sequence numbers of that snapshot.

    Class attributes:
        grows_with_rows: whether the work depends on the number of rows only, so that few rows take little time.
        runs_jobs: whether `distributed` runs jobs, so that it cannot be part of a plan.
    """

    grows_with_rows: ClassVar[bool] = True
    runs_jobs: ClassVar[bool] = False

    table: Table
    sequences: Mapping[Target, int] = field(default_factory=dict)
    planned_on: Snapshot | None = field(default=None, kw_only=True)
    needs_sequences: bool = field(default=False, kw_only=True)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        """Write all rows; on an error all written files are deleted.

        Args:
            batches: the rows, with the columns of the table in its order; they are cast to the table's types. Rows of a
                primary-key table may have their kind in a column ``_VALUE_KIND`` after these. Nulls in columns with a
                default value are replaced by it.
        """
        return self.write(self.with_buckets(self.prepared(batches)))

    def prepared(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows cast to the table's columns and types, with default values."""
        schema = arrow_schema(self.table.schema.fields)
        defaults = default_scalars(self.table.schema.fields)
        for batch in batches:
            extra = [arrow_field(SYSTEM[name]) for name in batch.schema.names[len(schema) :] if name in SYSTEM]
            rows = conform_batch(batch, pa.schema([*schema, *extra]))
            rows = cut_to_precision(rows, self.table.schema.fields)
            check_references(self.table.schema, rows)
            yield fill_defaults(rows, defaults) if defaults else rows

    def with_buckets(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        """The rows with buckets and in the order that the writer needs; by default unchanged."""
        return rows

    def write(self, rows: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        """Write rows from `prepared` and `with_buckets`."""
        writer = self.writer()
        with aborted_on_error(writer):
            for batch in rows:
                writer.write(batch)
            return writer.close()

    def writer(self) -> AppendWriter | KeyValueWriter:
        """Create a writer."""
        return WriteLayout.of(self.table).writer(self.table, self.sequences, self.router())

    def router(self) -> Router | None:
        """The router of rows to buckets; None for the writers' default."""
        return None

    def distributed(self, rows: Rows) -> tuple[WriteTask, Rows]:
        """Distribute rows so that one task writes each bucket; return the task to run on each part of the rows.

        By default rows go to the tasks of their buckets by `router`; without one any task writes any row.
        """
        router = self.router()
        return self, rows if router is None else by_bucket(rows, router)

    def finalize(self, messages: Sequence[CommitMessage], executor: Executor) -> Sequence[CommitMessage]:
        """The messages to commit, from those of all writers."""
        return messages

    def validations(self, messages: Iterable[CommitMessage]) -> tuple[Validation, ...]:
        """The conditions that must hold when the messages are committed."""
        return () if self.planned_on is None or not self.needs_sequences else (follows(self.planned_on),)


@dataclass(frozen=True)
class TrackedWriteTask(WriteTask):
    """Writes new rows, and in separate files updated rows with their ids in a column ``_ROW_ID``.

    The commit assigns ids to new rows, and its snapshot to all rows as the one that changed them last.
    """

    def write(self, rows: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        fresh, known = (AppendWriter(self.table, settings=s) for s in (None, TrackedSettings(self.table.schema)))
        with aborted_on_error(fresh, known):
            for batch in rows:
                updated = pc.equal(batch.column(VALUE_KIND.name), RowKind.UPDATE_AFTER)
                fresh.write(batch.filter(pc.invert(updated)))
                moved = batch.filter(updated)
                if moved.num_rows:
                    assert ROW_ID.name in moved.schema.names
                    unknown = pa.nulls(moved.num_rows, pa.int64())
                    known.write(moved.append_column(SEQUENCE_NUMBER.name, unknown))
            return [*fresh.close(), *known.close()]

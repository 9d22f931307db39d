"""Write tasks: how one writer writes its rows, sent to a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.schema.system_fields import BUCKET, TRACKED, VALUE_KIND
from paimon_sql.storage.columns.defaults import default_scalars, fill_defaults
from paimon_sql.storage.commit.checks.history import follows
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Validation
from paimon_sql.storage.table.partitioning.routing import Router, conform_batch
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.append_writer import AppendWriter
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import KeyValueWriter
from paimon_sql.storage.write.rows.blob_references import check_references
from paimon_sql.storage.write.rows.precision import cut_to_precision

SYSTEM = {f.name: f for f in (VALUE_KIND, BUCKET, *TRACKED)}
"""Columns that rows may have after those of the table."""


@dataclass(frozen=True)
class WriteTask:
    """Writes rows to files.

    Attributes:
        table: the table.
        sequences: the max sequence number by partition and bucket.
        planned_on: the snapshot of the sequence numbers; None if these are not needed.

    Class attributes:
        grows_with_rows: whether the work depends on the number of rows only, so that few rows take little time.
    """

    grows_with_rows: ClassVar[bool] = True

    table: Table
    sequences: Mapping[Target, int] = field(default_factory=dict)
    planned_on: Snapshot | None = field(default=None, kw_only=True)

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
        """Write rows from `prepared` and `placed`."""
        writer = self.writer()
        try:
            for batch in rows:
                writer.write(batch)
            return writer.close()
        except BaseException:
            writer.abort()
            raise

    def writer(self) -> AppendWriter | KeyValueWriter:
        """Create a writer."""
        if self.table.schema.primary_keys:
            return KeyValueWriter(self.table, self.sequences, self.router())
        return AppendWriter(self.table, self.sequences, self.router())

    def router(self) -> Router | None:
        """The router of rows to buckets; None for the writers' default."""
        return None

    def finalize(self, messages: Sequence[CommitMessage], executor: Executor) -> Sequence[CommitMessage]:
        """The messages to commit, from those of all writers."""
        return messages

    def validations(self, messages: Iterable[CommitMessage]) -> tuple[Validation, ...]:
        """The conditions that must hold when the messages are committed."""
        return () if self.planned_on is None else (follows(self.planned_on),)

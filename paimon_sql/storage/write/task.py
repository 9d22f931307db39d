"""One writer's share of a write, as it travels to a worker."""

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
"""Columns that rows may have behind those of the table."""


@dataclass(frozen=True)
class WriteTask:
    """Writes rows into files; ``sequences`` are the greatest sequence numbers by partition and bucket.

    Attributes:
        planned_on: the snapshot that sequence numbers were taken from; None where none were.

    Class attributes:
        grows_with_rows: whether the work depends on the rows alone, so that few of them are little work.
    """

    grows_with_rows: ClassVar[bool] = True

    table: Table
    sequences: Mapping[Target, int] = field(default_factory=dict)
    planned_on: Snapshot | None = field(default=None, kw_only=True)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        """Write all rows; on any error nothing is left behind.

        Args:
            batches: the rows, their columns those of the table in its order; the types are brought to the table's.
                Rows of a keyed table may have their kind in a column ``_VALUE_KIND`` behind them. A null in a column
                with a default value becomes that value.
        """
        return self.write(self.placed(self.prepared(batches)))

    def prepared(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows in the table's columns and types, defaults filled in."""
        schema = arrow_schema(self.table.schema.fields)
        defaults = default_scalars(self.table.schema.fields)
        for batch in batches:
            extra = [arrow_field(SYSTEM[name]) for name in batch.schema.names[len(schema) :] if name in SYSTEM]
            rows = conform_batch(batch, pa.schema([*schema, *extra]))
            rows = cut_to_precision(rows, self.table.schema.fields)
            check_references(self.table.schema, rows)
            yield fill_defaults(rows, defaults) if defaults else rows

    def placed(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        """The rows as the writer wants them, which is as they are unless the bucket mode says more."""
        return rows

    def write(self, rows: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        """Write rows that are prepared and placed."""
        writer = self.writer()
        try:
            for batch in rows:
                writer.write(batch)
            return writer.close()
        except BaseException:
            writer.abort()
            raise

    def writer(self) -> AppendWriter | KeyValueWriter:
        """A new writer."""
        if self.table.schema.primary_keys:
            return KeyValueWriter(self.table, self.sequences, self.router())
        return AppendWriter(self.table, self.sequences, self.router())

    def router(self) -> Router | None:
        """Says which bucket a row goes to; None for what the writers do by themselves."""
        return None

    def settled(self, messages: Sequence[CommitMessage], executor: Executor) -> Sequence[CommitMessage]:
        """What is committed of that which all writers together have written."""
        return messages

    def validations(self, messages: Iterable[CommitMessage]) -> tuple[Validation, ...]:
        """Conditions under which alone the messages may be committed."""
        return () if self.planned_on is None else (follows(self.planned_on),)

"""A reader's share of the rows that commits changed, each row with what became of it, in which commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.format.types import BigIntType, DataField, LocalZonedTimestampType, string_type
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.read.hidden_columns import ROW_INDEX
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.commit_changes import CommitSplit
from paimon_sql.storage.table import Table

CHANGE_TYPE = DataField(-1, "_change_type", string_type(False), "insert, delete, update_preimage or update_postimage")
COMMIT_VERSION = DataField(-1, "_commit_version", BigIntType(False), "the snapshot that changed the row")
COMMIT_TIMESTAMP = DataField(-1, "_commit_timestamp", LocalZonedTimestampType(False, 6), "when it was committed")
TOLD = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
_TYPES = pa.array(["insert", "update_preimage", "update_postimage", "delete"])
_MICROS_OF_A_MILLI = 1000


@dataclass(frozen=True)
class CommitTask:
    """Reads rows that one commit changed.

    Attributes:
        table: the table.
        change: the rows.
        columns: the names of the columns wanted, in this order, those of ``TOLD`` among them.
        predicate: a condition on the table's columns; other rows are left out.
    """

    table: Table
    change: CommitSplit
    columns: tuple[str, ...]
    predicate: Predicate | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""
        change, told = self.change, {f.name for f in TOLD}
        stored = tuple(name for name in self.columns if name not in told)
        extra = VALUE_KIND.name if change.kind is None else ROW_INDEX.name
        alive = None if change.marked is None else change.marked.read(self.table.file_io)
        for batch in ReadTask(self.table, change.split, (*stored, extra), self.predicate).batches():
            rows = batch
            if alive is not None:
                rows = batch.filter(pa.array(np.isin(batch.column(extra).to_numpy(), alive.positions)))
            if rows.num_rows:
                yield self._with_told(rows)

    def _with_told(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        snapshot, count = self.change.snapshot, rows.num_rows
        if self.change.kind is None:
            kinds = pa.array(rows.column(VALUE_KIND.name).to_numpy().astype(np.int32))
        else:
            kinds = pa.array(np.full(count, self.change.kind, np.int32))
        time = pa.array(np.full(count, snapshot.time_millis * _MICROS_OF_A_MILLI, np.int64))
        told = {
            CHANGE_TYPE.name: _TYPES.take(kinds),
            COMMIT_VERSION.name: pa.array(np.full(count, snapshot.id, np.int64)),
            COMMIT_TIMESTAMP.name: time.cast(pa.timestamp("us", "UTC")),
        }
        columns = [told[name] if name in told else rows.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(columns, names=list(self.columns))

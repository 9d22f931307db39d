"""Read tasks of changes by commit: changed rows with change type, commit version and commit time (Spark: CHANGES)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.format.schema.types import BigIntType, DataField, LocalZonedTimestampType, string_type
from paimon_sql.storage.expressions.kernels.equality import rows_equal
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.metadata_columns import ROW_INDEX
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.changes.by_commit import CommitSplit
from paimon_sql.storage.scan.split import DataEvolutionSplit
from paimon_sql.storage.table.table import Table

CHANGE_TYPE = DataField(-1, "_change_type", string_type(False), "insert, delete, update_preimage or update_postimage")
COMMIT_VERSION = DataField(-1, "_commit_version", BigIntType(False), "the snapshot that changed the row")
COMMIT_TIMESTAMP = DataField(-1, "_commit_timestamp", LocalZonedTimestampType(False, 6), "when it was committed")
CHANGE_FIELDS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
_TYPES = pa.array(["insert", "update_preimage", "update_postimage", "delete"])
_MICROS_OF_A_MILLI = 1000


@dataclass(frozen=True)
class CommitTask:
    """Reads rows that one commit changed.

    Attributes:
        table: the table.
        change: the split with the rows.
        columns: the names of the wanted columns, in this order; may include those of ``TOLD``.
        predicate: a condition on the table's columns; other rows are dropped.
    """

    table: Table
    change: CommitSplit
    columns: tuple[str, ...]
    predicate: Predicate | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""
        change, reported = self.change, {f.name for f in CHANGE_FIELDS}
        stored = tuple(name for name in self.columns if name not in reported)
        if change.before is not None:
            yield from self._differences(change.before, stored)
            return
        extra = VALUE_KIND.name if change.kind is None else ROW_INDEX.name
        deleted = None if change.marked is None else change.marked.read(self.table.file_io)
        for batch in ReadTask(self.table, change.split, (*stored, extra), self.predicate).batches():
            rows = batch
            if deleted is not None:
                rows = batch.filter(pa.array(np.isin(batch.column(extra).to_numpy(), deleted.positions)))
            if rows.num_rows:
                yield self._with_reported(rows, change.kind)

    def _differences(self, before: DataEvolutionSplit, stored: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a group that differ in the columns that the commit wrote, before and after."""
        compared = self.change.compared
        names = tuple(dict.fromkeys((*stored, *compared, ROW_INDEX.name)))
        sides = [ReadTask(self.table, split, names).batches() for split in (before, self.change.split)]
        for old, new in _in_step(*sides):
            if not old.column(ROW_INDEX.name).equals(new.column(ROW_INDEX.name)):
                raise CorruptFileError(
                    f"{self.table.name}: snapshot {self.change.snapshot.id} wrote columns of other rows than it holds.",
                    path=before.groups[0].anchor.file_name,
                )
            same = rows_equal(pa.Table.from_batches([old]), pa.Table.from_batches([new]), compared)
            for rows, kind in ((old, RowKind.DELETE), (new, RowKind.INSERT)):
                changed = rows.filter(pa.array(~same))
                if changed.num_rows:
                    yield self._with_reported(changed, kind)

    def _with_reported(self, rows: pa.RecordBatch, kind: RowKind | None) -> pa.RecordBatch:
        snapshot, count = self.change.snapshot, rows.num_rows
        if kind is None:
            kinds = pa.array(rows.column(VALUE_KIND.name).to_numpy().astype(np.int32))
        else:
            kinds = pa.array(np.full(count, kind, np.int32))
        time = pa.array(np.full(count, snapshot.time_millis * _MICROS_OF_A_MILLI, np.int64))
        reported = {
            CHANGE_TYPE.name: _TYPES.take(kinds),
            COMMIT_VERSION.name: pa.array(np.full(count, snapshot.id, np.int64)),
            COMMIT_TIMESTAMP.name: time.cast(pa.timestamp("us", "UTC")),
        }
        columns = [reported[name] if name in reported else rows.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(columns, names=list(self.columns))


def _in_step(
    before: Iterator[pa.RecordBatch], after: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Pairs of batches of two readers, sliced to the same number of rows; a rest of either is paired with no rows."""
    old, new = next(before, None), next(after, None)
    while old is not None and new is not None:
        count = min(old.num_rows, new.num_rows)
        yield old.slice(0, count), new.slice(0, count)
        old, new = old.slice(count), new.slice(count)
        old = old if old.num_rows else next(before, None)
        new = new if new.num_rows else next(after, None)
    for rest in (old, new):
        if rest is not None and rest.num_rows:
            yield rest, rest.slice(0, 0)

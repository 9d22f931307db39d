"""Read tasks: a split, or the changes of a commit, with columns and conditions, sent to a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND, RowKind
from paimon_sql.format.schema.types import BigIntType, DataField, LocalZonedTimestampType, string_type
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.expressions.kernels.equality import rows_equal
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.read.blobs import reference_resolver
from paimon_sql.storage.read.metadata_columns import ROW_INDEX, metadata_fields
from paimon_sql.storage.read.readers.splits import SplitRead, read_split
from paimon_sql.storage.scan.changes.plan import CommitSplit
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
from paimon_sql.storage.table.table import Table


def read_in_parts(table: Table, split: Split, parts: Sequence[DataField]) -> Table:
    """The table with nested columns pruned to the wanted inner fields, for readers of a split.

    It is unchanged where rows are compared or come from other branches, and so are columns whose merge functions need
    whole values; `only_parts` then prunes the rows.

    Args:
        table: the table of the split.
        split: the split.
        parts: the pruned columns, with their wanted inner fields.
    """
    if split.table is not None or split.origins or split.shows_changes:
        return table
    if table.schema.has_key and not split.raw:
        engine = merge_engine(table.schema)
        parts = [f for f in parts if engine.keeps_values(f.name)]
    pruned = {f.name: f for f in parts}
    fields = tuple(pruned.get(f.name, f) for f in table.schema.fields)
    narrow = replace(table, schema=replace(table.schema, fields=fields))
    vars(narrow)["schemas"] = table.schemas  # shares its cache of the files' schemas
    return narrow


def only_parts(batch: pa.RecordBatch, parts: Sequence[DataField]) -> pa.RecordBatch:
    """Prune nested columns to the wanted inner fields."""
    for field in parts:
        at = batch.schema.get_field_index(field.name)
        kind = arrow_type(field.type)
        if not batch.schema.field(at).type.equals(kind):
            batch = batch.set_column(at, batch.schema.field(at).with_type(kind), conform(batch.column(at), kind))
    return batch


@dataclass(frozen=True)
class ReadTask:
    """Reads a split: wanted columns of the rows that satisfy a condition.

    Attributes:
        table: the table.
        split: the split.
        columns: the names of the wanted columns, metadata columns included. ``_VALUE_KIND`` gives the kind of each row,
            and deleted rows too.
        predicate: the condition that rows must satisfy.
        row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be skipped, but need not be.
        parts: the columns of which only some inner fields are wanted, with these.
    """

    table: Table
    split: Split
    columns: tuple[str, ...]
    predicate: Predicate | None = None
    row_ids: Predicate | None = None
    parts: tuple[DataField, ...] = ()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy the predicate, in no particular order."""
        hidden = [f for f in metadata_fields(self.table.schema) if f.name in self.columns]
        hidden_names = {f.name for f in hidden}
        extra = sorted(self.predicate.columns() - set(self.columns)) if self.predicate else []
        wanted = [*(name for name in self.columns if name not in hidden_names), *extra]
        owner = self.split.table or self.table
        follow = reference_resolver(owner, self.columns, _blobs_of)
        table = read_in_parts(owner, self.split, self.parts) if self.parts else owner
        row_ids = all_of([ids for ids in (self.row_ids, self.split.row_ids) if ids is not None])
        for batch in read_split(self.split, SplitRead(table, wanted, hidden, self.predicate, row_ids)):
            if not batch.num_rows:
                continue
            rows = batch if self.predicate is None else batch.filter(self.predicate.holds(batch))
            if rows.num_rows:
                rows = only_parts(rows.select(list(self.columns)), self.parts)
                yield from follow(rows) if follow is not None else (rows,)


def _blobs_of(table: Table, column: str, row_ids: RowIds) -> Iterator[pa.RecordBatch]:
    """Read a column and the row ids of some rows."""
    columns = (column, ROW_ID.name)
    for split in plan_scan(table, columns=columns, row_ids=row_ids).splits:
        yield from ReadTask(table, split, columns, row_ids, row_ids).batches()


CHANGE_TYPE = DataField(-1, "_change_type", string_type(False), "insert, delete, update_preimage or update_postimage")
COMMIT_VERSION = DataField(-1, "_commit_version", BigIntType(False), "the snapshot that changed the row")
COMMIT_TIMESTAMP = DataField(-1, "_commit_timestamp", LocalZonedTimestampType(False, 6), "when it was committed")
CHANGE_FIELDS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
_TYPES = ("insert", "update_preimage", "update_postimage", "delete")
_MICROS_OF_A_MILLI = 1000


@dataclass(frozen=True)
class CommitTask:
    """Reads rows that one commit changed.

    Attributes:
        table: the table.
        change: the split with the rows.
        columns: the names of the wanted columns, in this order; may include those of `CHANGE_FIELDS`.
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
            CHANGE_TYPE.name: pa.array(_TYPES).take(kinds),
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

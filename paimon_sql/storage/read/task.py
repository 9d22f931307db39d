"""Read tasks: a split with columns and conditions, sent to a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.read.blob_references import reference_resolver
from paimon_sql.storage.read.metadata_columns import metadata_fields, read_with_metadata
from paimon_sql.storage.read.readers.changes import read_difference, read_log
from paimon_sql.storage.read.readers.merge import read_merged
from paimon_sql.storage.read.readers.postponed import read_postponed
from paimon_sql.storage.read.readers.raw import read_data_evolution, read_raw
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.postponed import PostponedSplit
from paimon_sql.storage.scan.split import ChangelogSplit, DataEvolutionSplit, DiffSplit, Split
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
    if split.table is not None or split.origins or isinstance(split, (ChangelogSplit, DiffSplit)):
        return table
    if table.schema.primary_keys and not split.raw:
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
        follow = reference_resolver(self.split.table or self.table, self.columns, _blobs_of)
        for batch in self._read(wanted, hidden):
            matching = self._filter(batch)
            if matching.num_rows:
                rows = matching.select(list(self.columns)) if extra or hidden else matching
                rows = only_parts(rows, self.parts)
                yield from follow(rows) if follow is not None else (rows,)

    def _read(self, columns: Sequence[str], hidden: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
        table = self.split.table or self.table
        if self.parts:
            table = read_in_parts(table, self.split, self.parts)
        conditions = [ids for ids in (self.row_ids, self.split.row_ids) if ids is not None]
        row_ids = all_of(conditions)
        if isinstance(self.split, PostponedSplit):
            return read_postponed(table, self.split, [*columns, *(f.name for f in hidden)])
        if hidden:
            return read_with_metadata(table, self.split, columns, hidden, self.predicate, row_ids)
        if isinstance(self.split, ChangelogSplit):
            return read_log(table, self.split, columns)
        if isinstance(self.split, DiffSplit):
            return read_difference(table, self.split, columns)
        if isinstance(self.split, DataEvolutionSplit):
            return read_data_evolution(table, self.split, columns, self.predicate, row_ids)
        if self.split.raw:
            return read_raw(table, self.split, columns, self.predicate, row_ids)
        return read_merged(table, self.split, columns, self.predicate)

    def _filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.predicate is None or not batch.num_rows:
            return batch
        return batch.filter(self.predicate.holds(batch))


def _blobs_of(table: Table, column: str, row_ids: RowIds) -> Iterator[pa.RecordBatch]:
    """Read a column and the row ids of some rows."""
    columns = (column, ROW_ID.name)
    for split in plan_scan(table, columns=columns, row_ids=row_ids).splits:
        yield from ReadTask(table, split, columns, row_ids, row_ids).batches()

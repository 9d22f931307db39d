"""Readers of splits: raw ones, those with postponed rows, changelogs, and differences of two states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND, RowKind
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.expressions.kernels.equality import rows_equal
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.merge.engines.base import is_retract
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Run, Window, merged_windows
from paimon_sql.storage.read.metadata_columns import POSITION_COLUMNS, MetadataColumns
from paimon_sql.storage.read.readers.data_evolution import GroupReader, rows_with_ids
from paimon_sql.storage.read.readers.data_file import DataFileReader, wanted_fields
from paimon_sql.storage.read.readers.merge import current_windows, read_merged
from paimon_sql.storage.scan.postponed import PostponedSplit
from paimon_sql.storage.scan.split import ChangelogSplit, DataEvolutionSplit, DiffSplit, Split
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class SplitRead:
    """What is read of a split.

    Attributes:
        table: the table.
        columns: the names of the wanted columns, without metadata columns; ``_VALUE_KIND`` gives deleted rows too.
        hidden: the metadata columns, which follow the others.
        predicate: rows for which it is not true may be skipped.
        row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be skipped.
    """

    table: Table
    columns: Sequence[str]
    hidden: Sequence[DataField] = ()
    predicate: Predicate | None = None
    row_ids: Predicate | None = None

    @property
    def stored(self) -> Sequence[str]:
        """The columns to read; at least one if there are metadata columns, which need the number of rows."""
        return self.columns or (self.table.schema.names[:1] if self.hidden else ())


@singledispatch
def read_split(split: Split, read: SplitRead) -> Iterator[pa.RecordBatch]:
    """Read a split of any kind; the conditions may be applied in part.

    Raises:
        UnsupportedError: the position of a row is wanted, but rows are merged from several files.
    """
    if split.raw:
        return _file_by_file(split, read)
    return _without_positions(split, read, read_merged(read.table, split, read.stored, read.predicate))


def _file_by_file(split: Split, read: SplitRead) -> Iterator[pa.RecordBatch]:
    table, metadata = read.table, MetadataColumns(read.table, split, read.hidden)
    with_kinds = VALUE_KIND.name in FileLayout.of(table).system_fields
    stored = [c for c in read.stored if with_kinds or c != VALUE_KIND.name]
    for file in split.files:
        ranges = None
        if file.first_row_id is not None and ROW_ID.name not in (file.write_cols or ()):
            ranges = rows_with_ids(file.first_row_id, file.row_count, read.row_ids)
        deletion, place = split.deletions.get(file.file_name), (split.partition, split.bucket, file)
        path = table.locations.data_file(*place)
        reader = DataFileReader(table, *place, stored, read.predicate, deletion, row_ranges=ranges)
        for positions, batch in reader.with_row_ids() if metadata.tracked else reader.with_positions():
            rows = batch if len(stored) == len(read.columns) else with_inserts(batch, read.columns)
            tracked = {name: batch.column(name) for name in metadata.tracked}
            yield metadata.appended_to(rows.select(list(read.columns)), len(positions), path, positions, tracked)


def _refuse_positions(read: SplitRead) -> None:
    if unavailable := POSITION_COLUMNS & {f.name for f in read.hidden}:
        raise UnsupportedError(
            f"{read.table.name}: {min(unavailable)} is not available for rows that are merged when they are read.",
            remedy="Compact the table, or select only __paimon_bucket and __paimon_partition.",
        )


def _without_positions(split: Split, read: SplitRead, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows that are merged from several files, with the metadata columns."""
    _refuse_positions(read)
    metadata = MetadataColumns(read.table, split, read.hidden)
    for batch in batches:
        yield metadata.appended_to(batch.select(list(read.columns)), batch.num_rows)


@read_split.register
def _(split: DataEvolutionSplit, read: SplitRead) -> Iterator[pa.RecordBatch]:
    """The position of a row whose columns lie in several files is that in the oldest file."""
    table, metadata = read.table, MetadataColumns(read.table, split, read.hidden)
    stored = [c for c in read.columns if c != VALUE_KIND.name]
    for group in split.groups:
        path = table.locations.data_file(split.partition, split.bucket, group.anchor)
        deletion = split.deletions.get(group.anchor.file_name)
        reader = GroupReader(table, split.partition, split.bucket, group)
        for positions, batch in reader.matching(stored, read.predicate, deletion=deletion, row_ids=read.row_ids):
            rows, tracked = with_inserts(batch, read.columns), {}
            if metadata.tracked:
                numbers = np.full(len(positions), group.sequence_number, dtype=np.int64)
                tracked = {
                    ROW_ID.name: pa.array(positions + group.first_row_id),
                    SEQUENCE_NUMBER.name: pa.array(numbers),
                }
            yield metadata.appended_to(rows, len(positions), path, positions, tracked)


def with_inserts(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Add the row kind ``+I`` to a batch without kinds, if ``_VALUE_KIND`` is among the columns."""
    if VALUE_KIND.name not in columns:
        return batch
    kinds = pa.array(np.full(batch.num_rows, RowKind.INSERT, dtype=np.int8))
    return batch.append_column(VALUE_KIND.name, kinds).select(list(columns))


@read_split.register
def _(split: PostponedSplit, read: SplitRead) -> Iterator[pa.RecordBatch]:
    """All rows of the bucket are held in memory, for postponed rows are not sorted."""
    table, columns = read.table, [*read.columns, *(f.name for f in read.hidden)]
    engine = merge_engine(table.schema)
    ties = sequence_fields(table.schema.options)
    keys = table.schema.trimmed_primary_keys
    wanted = [*engine.required_columns(tuple(columns)), *keys, *(name for name, _ in ties), *table.schema.bucket_keys]
    names = [name for name in dict.fromkeys(wanted) if name in table.schema.names]
    made = {VALUE_KIND.name, SEQUENCE_NUMBER.name}
    if unknown := set(wanted) - set(names) - made:
        raise UnsupportedError(f"{table.name}: {', '.join(sorted(unknown))} of postponed rows cannot be read.")
    batches = [*_from_bucket(table, split, names), *_postponed(table, split, names)]
    if not batches:
        return
    # The order of the rows decides which one of a key is newer.
    rows = pa.Table.from_batches(batches)
    rows = rows.append_column(SEQUENCE_NUMBER.name, pa.array(np.arange(len(rows), dtype=np.int64)))
    by = RowOrder(tuple(keys), (*ties, (SEQUENCE_NUMBER.name, False)))
    window = Window(rows, *by.sort(rows))
    merged = [engine.merge(window).select(columns)] if VALUE_KIND.name in columns else engine.live_rows(window, columns)
    for part in merged:
        yield from part.to_batches(max_chunksize=65_536)


def _from_bucket(table: Table, split: PostponedSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    insert = pa.scalar(RowKind.INSERT, arrow_type(VALUE_KIND.type))
    for own in split.bucket_splits:
        for batch in read_split(own, SplitRead(table, names)):
            yield _with_row_kinds(table, batch, names, pa.repeat(insert, batch.num_rows))


def _postponed(table: Table, split: PostponedSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    router = Router(table.schema, split.buckets)
    for file in split.postponed_files:
        reader = DataFileReader(table, split.partition, POSTPONE_BUCKET, file, [*names, VALUE_KIND.name])
        for batch in reader.batches():
            own = batch
            if split.buckets > 1:
                own = batch.filter(pa.array(router.buckets_of(batch) == split.bucket))
            yield _with_row_kinds(table, own, names, own.column(VALUE_KIND.name))


def _with_row_kinds(table: Table, batch: pa.RecordBatch, names: Sequence[str], kinds: pa.Array) -> pa.RecordBatch:
    types = {f.name: arrow_type(f.type) for f in wanted_fields(table, names)}
    columns = [batch.column(name).cast(types[name]) for name in names]
    return pa.RecordBatch.from_arrays([*columns, kinds.cast(pa.int8())], names=[*names, VALUE_KIND.name])


_AFTER = "_AFTER"


@read_split.register
def _(split: ChangelogSplit, read: SplitRead) -> Iterator[pa.RecordBatch]:
    """Rows as they were written; retractions only if ``_VALUE_KIND`` is among the columns."""
    _refuse_positions(read)
    every = replace(read, predicate=None, row_ids=None)
    if VALUE_KIND.name in read.columns or VALUE_KIND.name not in FileLayout.of(read.table).system_fields:
        yield from _file_by_file(split, every)
        return
    for batch in _file_by_file(split, replace(every, columns=[*read.columns, VALUE_KIND.name])):
        kinds = batch.column(VALUE_KIND.name).to_numpy()
        yield batch.filter(pa.array(~is_retract(kinds))).drop_columns([VALUE_KIND.name])


@read_split.register
def _(split: DiffSplit, read: SplitRead) -> Iterator[pa.RecordBatch]:
    return _without_positions(split, read, _changed_rows(split, read))


def _changed_rows(split: DiffSplit, read: SplitRead) -> Iterator[pa.RecordBatch]:
    """The rows that are new or different since the earlier state.

    If ``_VALUE_KIND`` is among the columns, removed rows are given as ``-D`` with their old values. If the split asks
    for images, every change has its row kind: updated rows are given twice, as ``-U`` and as ``+U``.
    """
    table, with_kinds = read.table, VALUE_KIND.name in read.columns
    names = [*table.schema.names, VALUE_KIND.name]
    before = split.before or Split(split.partition, split.bucket, (), False)
    runs = [_merged(table, state, names, after=after) for after, state in enumerate((before, split))]
    by = RowOrder(table.schema.trimmed_primary_keys)
    for window in merged_windows(runs, by, table.options):
        if split.images:
            rows = _images(window, table.schema.names)
        else:
            rows = _difference(window, table.schema.names, with_kinds=with_kinds)
        yield from rows.select(list(read.stored)).to_batches(max_chunksize=65_536)


def _merged(table: Table, split: Split, names: Sequence[str], *, after: int) -> Run:
    """The merged rows of a state as a sorted run, deletes included."""
    engine = merge_engine(table.schema)

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for section in split.sections:
            for window in current_windows(table, split, section, engine.required_columns(tuple(names))):
                rows = engine.merge(window).select(list(names))
                side = pa.array(np.full(len(rows), after, dtype=np.int8))
                yield from rows.append_column(_AFTER, side).to_batches(max_chunksize=batch_rows)

    count = sum(f.row_count for f in split.files)
    return Run(count, 4 * split.size, read, "a merged state")


def _pairs(window: Window, values: Sequence[str]) -> tuple[Indices, Indices, Mask, Mask]:
    """The earlier and the later row of each key, NOWHERE for none; whether each row is a delete, each pair equal."""
    after = window.table[_AFTER].to_numpy()[window.order] == 1
    segments = window.segments
    old, new = (np.where(p == NOWHERE, NOWHERE, window.order[p]) for p in (segments.last(~after), segments.last(after)))
    is_delete = is_retract(window.table[VALUE_KIND.name].to_numpy())
    both = np.flatnonzero((old != NOWHERE) & (new != NOWHERE))
    equal = np.zeros(len(old), dtype=bool)
    equal[both] = rows_equal(window.table.take(old[both]), window.table.take(new[both]), values)
    equal[both] &= is_delete[old[both]] == is_delete[new[both]]
    return old, new, is_delete, equal


def _difference(window: Window, values: Sequence[str], *, with_kinds: bool) -> pa.Table:
    old, new, is_delete, equal = _pairs(window, values)
    changed = (new != NOWHERE) & ~equal
    removed = (old != NOWHERE) & (new == NOWHERE) & ~is_delete[old]
    if not with_kinds:
        return window.table.take(new[changed & ~is_delete[new]])
    rows = window.table.take(np.where(removed, old, new)[changed | removed])
    kinds = rows[VALUE_KIND.name].to_numpy().copy()
    kinds[removed[changed | removed]] = RowKind.DELETE
    return _with_kinds(rows, kinds)


def _images(window: Window, values: Sequence[str]) -> pa.Table:
    """The old values of removed and updated rows, and the new values of added and updated rows, each with its kind."""
    old, new, is_delete, equal = _pairs(window, values)
    was, is_there = ((rows != NOWHERE) & ~is_delete[rows] & ~equal for rows in (old, new))
    found = window.table.take(np.concatenate([old[was], new[is_there]]))
    before = np.where(is_there[was], RowKind.UPDATE_BEFORE, RowKind.DELETE)
    after = np.where(was[is_there], RowKind.UPDATE_AFTER, RowKind.INSERT)
    return _with_kinds(found, np.concatenate([before, after]).astype(np.int8))


def _with_kinds(rows: pa.Table, kinds: npt.NDArray[np.int8]) -> pa.Table:
    return rows.set_column(rows.column_names.index(VALUE_KIND.name), VALUE_KIND.name, pa.array(kinds))

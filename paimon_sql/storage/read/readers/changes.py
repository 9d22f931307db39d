"""Changes as rows: those that files tell one by one, and those between two merged states of a bucket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.expressions.kernels.equality import rows_equal
from paimon_sql.storage.expressions.kernels.segments import NOWHERE
from paimon_sql.storage.merge.engines.base import is_retract
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.spill import merged_windows
from paimon_sql.storage.merge.windows import RowOrder, Run, Window
from paimon_sql.storage.read.readers.data_file import read_data_file
from paimon_sql.storage.read.readers.merge import current_windows
from paimon_sql.storage.read.readers.raw import with_inserts
from paimon_sql.storage.scan.split import ChangelogSplit, DiffSplit, Split
from paimon_sql.storage.table.table import Table

_AFTER = "_AFTER"
_Places = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


def read_log(table: Table, split: ChangelogSplit, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of files as they were written; retractions only where the kinds of rows are among the columns."""
    keyed = bool(table.schema.primary_keys)
    stored = [c for c in columns if keyed or c != VALUE_KIND.name]
    wanted = [*stored, VALUE_KIND.name] if keyed and VALUE_KIND.name not in stored else stored
    for file in split.files:
        for batch in read_data_file(table, split.partition, split.bucket, file, wanted):
            if not keyed:
                yield with_inserts(batch, columns)
            elif VALUE_KIND.name in columns:
                yield batch
            else:
                kinds = batch.column(VALUE_KIND.name).to_numpy()
                yield batch.filter(pa.array(~is_retract(kinds))).select(list(columns))


def read_difference(table: Table, split: DiffSplit, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows that are new or different since the earlier state.

    Rows that are gone come as deletes, with their old values, where the kinds of rows are among the columns. If the
    split asks for images, all rows come with what became of them: changed ones twice, as they were and as they are.
    """
    with_kinds = VALUE_KIND.name in columns
    names = [*table.schema.names, VALUE_KIND.name]
    before = split.before or Split(split.partition, split.bucket, (), False)
    runs = [_merged(table, state, names, after=after) for after, state in enumerate((before, split))]
    by = RowOrder(table.schema.trimmed_primary_keys)
    for window in merged_windows(runs, by, table.options):
        if split.images:
            rows = _images(window, table.schema.names)
        else:
            rows = _difference(window, table.schema.names, with_kinds=with_kinds)
        yield from rows.select(list(columns)).to_batches(max_chunksize=65_536)


def _merged(table: Table, split: Split, names: Sequence[str], *, after: int) -> Run:
    """A state's merged rows as a sorted run, deletes among them."""
    engine = merge_engine(table.schema)

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for section in split.sections:
            for window in current_windows(table, split, section, engine.needs(tuple(names))):
                rows = engine.merge(window).select(list(names))
                side = pa.array(np.full(len(rows), after, dtype=np.int8))
                yield from rows.append_column(_AFTER, side).to_batches(max_chunksize=batch_rows)

    count = sum(f.row_count for f in split.files)
    return Run(count, 4 * split.size, read, "a merged state")


def _pairs(window: Window, values: Sequence[str]) -> tuple[_Places, _Places, _Mask, _Mask]:
    """The earlier and the later row of each key, NOWHERE for none; which rows are deletes, which pairs are equal."""
    after = window.table[_AFTER].to_numpy()[window.order] == 1
    segments = window.segments
    old, new = (np.where(p == NOWHERE, NOWHERE, window.order[p]) for p in (segments.last(~after), segments.last(after)))
    dead = is_retract(window.table[VALUE_KIND.name].to_numpy())
    both = np.flatnonzero((old != NOWHERE) & (new != NOWHERE))
    equal = np.zeros(len(old), dtype=bool)
    equal[both] = rows_equal(window.table.take(old[both]), window.table.take(new[both]), values)
    equal[both] &= dead[old[both]] == dead[new[both]]
    return old, new, dead, equal


def _difference(window: Window, values: Sequence[str], *, with_kinds: bool) -> pa.Table:
    old, new, dead, equal = _pairs(window, values)
    told = (new != NOWHERE) & ~equal
    gone = (old != NOWHERE) & (new == NOWHERE) & ~dead[old]
    if not with_kinds:
        return window.table.take(new[told & ~dead[new]])
    rows = window.table.take(np.where(gone, old, new)[told | gone])
    kinds = rows[VALUE_KIND.name].to_numpy().copy()
    kinds[gone[told | gone]] = RowKind.DELETE
    return _with_kinds(rows, kinds)


def _images(window: Window, values: Sequence[str]) -> pa.Table:
    """The rows that are gone, new, or different, these as they were and as they are, each with its kind."""
    old, new, dead, equal = _pairs(window, values)
    was, is_there = ((places != NOWHERE) & ~dead[places] & ~equal for places in (old, new))
    rows = window.table.take(np.concatenate([old[was], new[is_there]]))
    before = np.where(is_there[was], RowKind.UPDATE_BEFORE, RowKind.DELETE)
    after = np.where(was[is_there], RowKind.UPDATE_AFTER, RowKind.INSERT)
    return _with_kinds(rows, np.concatenate([before, after]).astype(np.int8))


def _with_kinds(rows: pa.Table, kinds: npt.NDArray[np.int8]) -> pa.Table:
    return rows.set_column(rows.column_names.index(VALUE_KIND.name), VALUE_KIND.name, pa.array(kinds))

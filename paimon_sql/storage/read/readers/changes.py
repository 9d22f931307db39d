"""Readers of changes: rows of changelogs and new files, and the difference of two merged states of a bucket."""

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
_Indexes = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


def read_log(table: Table, split: ChangelogSplit, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read rows as they were written; retractions only if ``_VALUE_KIND`` is among the columns."""
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
    """Read the rows that are new or different since the earlier state.

    If ``_VALUE_KIND`` is among the columns, removed rows are given as ``-D`` with their old values. If the split asks
    for images, every change has its row kind: updated rows are given twice, as ``-U`` and as ``+U``.
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


def _pairs(window: Window, values: Sequence[str]) -> tuple[_Indexes, _Indexes, _Mask, _Mask]:
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

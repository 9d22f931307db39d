"""Top-N: the files, by statistics, and the rows, by global index, that can be the first in the order of a column.

A file has a known number of rows up to its max value. Once files have as many rows as are wanted up to some value, no
wanted row comes after it: files that begin after it are skipped. Bounds may be wider than the values, as those of
truncated strings; a file with merged or deleted rows counts for fewer rows, one without bounds for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.format.file_index.keys import KeyType
from paimon_sql.format.global_index.base import GlobalIndexReader, SortedIndexReader, bitmap_of, check_rows, rows_of
from paimon_sql.format.global_index.keys import IndexKeys
from paimon_sql.format.global_index.kinds.btree import BTree
from paimon_sql.format.global_index.registry import KINDS
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry, KeyRange
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, is_floating, is_ordered
from paimon_sql.storage.data_files.live_files import LiveFiles, deletions_of
from paimon_sql.storage.expressions.predicates import ColumnStats, Comparison, IsNull, Or, Predicate
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.scan.global_index.entries import changed_since, covered, meta_of
from paimon_sql.storage.scan.global_index.lookup import (
    bitmap_of_ranges,
    ranges_of,
    rows_of_files,
    search_index,
    usable_entries,
)
from paimon_sql.storage.scan.layout import column_stats
from paimon_sql.storage.scan.split import FileKey, Split
from paimon_sql.storage.table.table import Table

Longs = npt.NDArray[np.int64]

_UNKNOWN, _NULLS_FIRST = -2, -1


@dataclass(frozen=True)
class TopN:
    """The first rows in an order.

    Attributes:
        column: the first column of the order.
        descending: whether max values come first.
        nulls_first: whether nulls come first.
        limit: the number of wanted rows.
        alone: whether the order has no other column, so that rows with equal values are interchangeable.
    """

    column: str
    descending: bool
    nulls_first: bool
    limit: int
    alone: bool

    def __str__(self) -> str:
        order = f"{'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"first {self.limit} by {self.column} {order}"

    def is_bounded(self, schema: TableSchema) -> bool:
        """Whether statistics bound the column: not where NaN may occur, which no bound includes."""
        kind = schema.field(self.column).type
        return is_ordered(kind) and not is_floating(kind)


def splits_with_first(
    table: Table, top: TopN, live: LiveFiles, splits: Sequence[Split]
) -> tuple[list[Split], Predicate | None]:
    """Skip files and groups of files that cannot hold one of the first rows.

    Args:
        table: the table of all splits.
        top: the wanted rows; statistics bound its column.
        live: all files of the splits, without rows that a predicate drops; its metrics are reduced by skipped files.
        splits: the splits.

    Returns:
        The splits that can hold the first rows, and a condition that all these rows satisfy, if one is known.
    """
    stats = column_stats(table, live.entries, top.column)
    places = zip(*(live.entries[c].to_pylist() for c in ("partition", "bucket", "file_name")), strict=True)
    numbers: dict[FileKey, int] = {place: i for i, place in enumerate(places)}
    sure = np.zeros(len(numbers), np.int64)
    rows = stats.row_count.to_numpy(zero_copy_only=False).astype(np.int64)
    for split in splits:
        if split.raw:
            for file in split.anchors:
                at = numbers[split.file_key(file)]
                deletion = split.deletions.get(file.file_name)
                deleted = 0 if deletion is None else deletion.range.cardinality
                sure[at] = 0 if deleted is None else rows[at] - deleted - (file.delete_row_count or 0)
    wanted, condition = wanted_files(top, stats, sure)
    if wanted.all():
        return list(splits), condition
    unwanted = frozenset(place for place, at in numbers.items() if not wanted[at])
    by_key = top.column in table.schema.primary_keys
    chooses = by_key or engine_of(table.options).selects
    found: list[Split] = []
    for split in splits:
        rest = split.without(unwanted if chooses or not split.merges_rows else (), unwanted if by_key else ())
        live.metrics.files_read -= len(split.files) - len(rest.files)
        live.metrics.bytes_read -= split.size - rest.size
        if rest.files:
            found.append(rest)
    return found, condition


def wanted_files(top: TopN, stats: ColumnStats, sure: Longs) -> tuple[npt.NDArray[np.bool_], Predicate | None]:
    """Whether each file may hold one of the first rows, and a condition that all these rows satisfy, if known.

    Args:
        top: the wanted rows.
        stats: the statistics of the column in each file.
        sure: the min number of rows that a read gets from each file.
    """
    distinct = pc.unique(pa.concat_arrays([stats.minimum, stats.maximum]).drop_null())
    distinct = distinct.take(pc.array_sort_indices(distinct, "descending" if top.descending else "ascending"))
    ends = [pc.index_in(end, distinct) for end in (stats.minimum, stats.maximum)]
    best, worst = (
        end.fill_null(_UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int64)
        for end in (reversed(ends) if top.descending else ends)
    )
    best = np.where(worst == _UNKNOWN, _UNKNOWN, best)
    rows = stats.row_count.to_numpy(zero_copy_only=False).astype(np.int64)
    counted = stats.null_count.is_valid().to_numpy(zero_copy_only=False)
    nulls = stats.null_count.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    of_nulls = _NULLS_FIRST if top.nulls_first else len(distinct)
    alone = counted & (nulls == rows)
    some_nulls = ~counted | (nulls > 0)
    begins = np.where(alone | (top.nulls_first & some_nulls), of_nulls, best)
    # Deleted rows may all have a value, or all be null.
    deleted = rows - sure
    values = np.where(counted & ~alone & (best != _UNKNOWN), np.maximum(rows - nulls - deleted, 0), 0)
    empty = np.where(counted, np.maximum(nulls - deleted, 0), 0)
    files = np.tile(np.arange(len(rows)), 2)
    reach, counts = np.concatenate([worst, np.full(len(rows), of_nulls)]), np.concatenate([values, empty])
    order = np.lexsort((files, reach))
    order = order[counts[order] > 0]
    enough = int(np.searchsorted(np.cumsum(counts[order]), top.limit))
    if enough >= len(order):
        return np.ones(len(rows), np.bool_), None
    last = int(reach[order[enough]])
    wanted = begins < last if top.alone else begins <= last
    wanted[files[order[: enough + 1]]] = True
    return wanted, _up_to(top, last, distinct)


def _up_to(top: TopN, last: int, distinct: pa.Array) -> Predicate | None:
    """The condition that a row does not come after a value, given by its index in ``distinct``."""
    if last == len(distinct):
        return None
    if last == _NULLS_FIRST:
        return IsNull(top.column)
    bound = Comparison(top.column, ">=" if top.descending else "<=", distinct[last])
    return Or((IsNull(top.column), bound)) if top.nulls_first else bound


_MAX_ROWS = 100_000
"""The max number of rows to search for; for more of them, reading the files is as fast."""


def first_rows(table: Table, snapshot: Snapshot | None, files: pa.Table, top: TopN) -> RowIds | None:
    """Rows that include the first ones, from ``btree`` global indexes; None if these cannot be used.

    From each index file the first rows are taken, as many as are wanted in all; rows without an index, or changed since
    it was built, are added. The reader sorts the result.

    Args:
        table: the table.
        snapshot: the snapshot to read.
        files: all live data files that may hold wanted rows, the order aside.
        top: the wanted rows.
    """
    field = table.schema.field(top.column)
    entries = [e for e in usable_entries(table, snapshot, files, [field]) if e.file.index_type == BTree.name]
    # 0.0 and -0.0 are two keys but one value: a second column of the order decides between them.
    if not entries or (KeyType(field.type).is_float and not top.alone):
        return None
    deleted = [d.range.cardinality for d in deletions_of(table, snapshot).values()]
    wanted = top.limit + sum(d or 0 for d in deleted)
    if None in deleted or wanted > _MAX_ROWS:
        return None
    everything, known = rows_of_files(files), bitmap_of_ranges(covered(entries))
    changed = reduce(or_, map(bitmap_of_ranges, changed_since(table, files, entries, field.id).values()), BitMap64())
    # Files without row ids are read anyway.
    if len(everything) - len(everything & known) > len(everything) // 2:
        return None
    found = _Search(table, field, top, wanted, everything - changed).rows(entries)
    return None if found is None else ranges_of((found | changed | (everything - known)) & everything)


@dataclass(frozen=True, eq=False)
class _Search:
    """Searches index files for the first rows.

    Attributes:
        table: the table.
        field: the column.
        top: the order.
        wanted: the number of wanted rows, plus those that deletion vectors delete.
        counted: the rows whose keys are up to date.
    """

    table: Table
    field: DataField
    top: TopN
    wanted: int
    counted: BitMap64

    def rows(self, entries: Sequence[IndexManifestEntry]) -> BitMap64 | None:
        """The first rows of all files; None if one of them cannot be read."""
        try:
            positions = sorted(((self._begin(e), e) for e in entries), key=lambda pair: pair[0])
        except ValueError:
            return None  # a key range in the manifest is corrupt
        found, bound = BitMap64(), None
        for begin, entry in positions:
            if bound is not None and bound < begin:
                break  # this file and the following ones begin after enough rows
            answer = search_index(self.table, self.field, KINDS[BTree.name], entry, partial(self._first, entry))
            if answer is None:
                return None
            found |= answer[0]
            if answer[1] is not None:
                bound = answer[1] if bound is None else min(bound, answer[1])
        return found

    def _first(self, entry: IndexManifestEntry, reader: GlobalIndexReader) -> tuple[BitMap64, _Position | None]:
        """The first rows of a file, and the position of the last one; None if there are not enough."""
        assert isinstance(reader, SortedIndexReader)
        start, found = meta_of(entry).row_range_start, BitMap64()
        count = meta_of(entry).row_range_end + 1 - start
        if self.top.nulls_first:
            found = check_rows(reader.nulls(), count).shift(start) & self.counted
            if len(found) >= self.wanted:
                return found, _Position(0)
        for block in reader.in_order(descending=self.top.descending):
            heads = np.cumsum(block.counts) - block.counts
            rows = bitmap_of(block.rows + start) & self.counted
            if len(found) + len(rows) < self.wanted:
                found |= rows
                continue
            true = np.isin(block.rows + start, rows_of(rows))
            upto = np.cumsum(np.add.reduceat(true, heads, dtype=np.int64))
            last = int(np.searchsorted(upto, self.wanted - len(found)))
            end = int(heads[last] + block.counts[last])
            found |= bitmap_of(block.rows[:end] + start) & self.counted
            return found, _Position(1, block.keys[last].as_py(), self.top.descending)
        if not self.top.nulls_first:
            found |= check_rows(reader.nulls(), count).shift(start) & self.counted
        return found, _Position(2) if len(found) >= self.wanted else None

    def _begin(self, entry: IndexManifestEntry) -> _Position:
        """The earliest possible position of a file's rows."""
        keys = KeyRange.read(meta_of(entry).index_meta or b"")
        end = keys.last if self.top.descending else keys.first
        if self.top.nulls_first and (keys.has_nulls or end is None):
            return _Position(0)
        if end is None:
            return _Position(2)
        key = IndexKeys(self.field.type).decoded(pa.array([end], pa.large_binary()))[0].as_py()
        return _Position(1, key, self.top.descending)


@dataclass(frozen=True)
class _Position:
    """A position in the order: among nulls that come first (0), at a key (1), or among nulls that come last (2)."""

    part: int
    key: Any = None
    descending: bool = False

    def __lt__(self, other: _Position) -> bool:
        if self.part != other.part or self.part != 1:
            return self.part < other.part
        return bool(self.key > other.key if self.descending else self.key < other.key)

"""The first rows in the order of an indexed column, as sorted global indexes tell them.

Of each index file as many rows are taken, from its first key on, as are wanted of all; what no index covers, or was
changed since, is added. Whoever sorts what is left has the first rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from paimon_sql.format.file_index.keys import KeyType
from paimon_sql.format.global_index.base import GlobalIndexReader, SortedIndexReader, bitmap_of, check_rows, rows_of
from paimon_sql.format.global_index.keys import IndexKeys
from paimon_sql.format.global_index.kinds.btree import BTree
from paimon_sql.format.global_index.meta import KeyRange
from paimon_sql.format.global_index.registry import KINDS
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.deletion_vectors import deletions_of
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.scan.global_index.entries import changed_since, covered, meta_of, of_another_type
from paimon_sql.storage.scan.global_index.lookup import ask_index, filled, ranges_of, rows_of_files, usable_entries
from paimon_sql.storage.scan.selection.top_n import TopN
from paimon_sql.storage.table.table import Table

_MOST_ROWS = 100_000
"""How many rows are looked up at the most; for more of them files are as quick."""


def first_rows(table: Table, snapshot: Snapshot | None, files: pa.Table, top: TopN) -> RowIds | None:
    """Rows among which the first ones are, by the global indexes of the type ``btree``; None if they tell nothing.

    Args:
        table: the table.
        snapshot: the snapshot that is read.
        files: all of its live data files of which rows are wanted, whatever their order.
        top: which rows are wanted.
    """
    field = table.schema.field(top.column)
    of_column = [e for e in usable_entries(table, snapshot, files, [field]) if e.file.index_type == BTree.name]
    # Zeros of either sign are two keys and one value: what comes behind decides on their order.
    if not of_column or (KeyType(field.type).is_float and not top.alone):
        return None
    wrong = of_another_type(table, of_column, field)
    entries = [e for e in of_column if e.file.file_name not in wrong]
    deleted = [d.range.cardinality for d in deletions_of(table, snapshot).values()]
    wanted = top.limit + sum(d or 0 for d in deleted)
    if not entries or None in deleted or wanted > _MOST_ROWS:
        return None
    everything, known = rows_of_files(files), filled(covered(entries))
    changed = reduce(or_, map(filled, changed_since(table, files, entries, field.id).values()), BitMap64())
    # Files without row ids, if there are any, are read in any case.
    if len(everything) - len(everything & known) > len(everything) // 2:
        return None
    found = _Search(table, field, top, wanted, everything - changed).rows(entries)
    return None if found is None else ranges_of((found | changed | (everything - known)) & everything)


@dataclass(frozen=True, eq=False)
class _Search:
    """Looks for the first rows of index files.

    Attributes:
        table: the table.
        field: the column.
        top: the order.
        wanted: how many rows are wanted, those that deletion vectors delete among them.
        counted: the rows whose keys are true.
    """

    table: Table
    field: DataField
    top: TopN
    wanted: int
    counted: BitMap64

    def rows(self, entries: Sequence[IndexManifestEntry]) -> BitMap64 | None:
        """The first rows of all files; None if one of them cannot be read."""
        try:
            places = sorted(((self._begin(e), e) for e in entries), key=lambda pair: pair[0])
        except ValueError:
            return None  # what the manifest tells of a file's keys is broken
        found, bound = BitMap64(), None
        for begin, entry in places:
            if bound is not None and begin > bound:
                break  # this file and those behind it begin behind enough rows
            told = ask_index(self.table, self.field, KINDS[BTree.name], entry, partial(self._first, entry))
            if told is None:
                return None
            found |= told[0]
            if told[1] is not None:
                bound = told[1] if bound is None else min(bound, told[1])
        return found

    def _first(self, entry: IndexManifestEntry, reader: GlobalIndexReader) -> tuple[BitMap64, _Place | None]:
        """The first rows of a file, and the place of the last of them if there are enough."""
        assert isinstance(reader, SortedIndexReader)
        start, found = meta_of(entry).row_range_start, BitMap64()
        count = meta_of(entry).row_range_end + 1 - start
        if self.top.nulls_first:
            found = check_rows(reader.nulls(), count).shift(start) & self.counted
            if len(found) >= self.wanted:
                return found, _Place(0)
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
            return found, _Place(1, block.keys[last].as_py(), self.top.descending)
        if not self.top.nulls_first:
            found |= check_rows(reader.nulls(), count).shift(start) & self.counted
        return found, _Place(2) if len(found) >= self.wanted else None

    def _begin(self, entry: IndexManifestEntry) -> _Place:
        """Where the rows of a file begin at the earliest."""
        held = KeyRange.read(meta_of(entry).index_meta or b"")
        end = held.last if self.top.descending else held.first
        if self.top.nulls_first and (held.has_nulls or end is None):
            return _Place(0)
        if end is None:
            return _Place(2)
        key = IndexKeys(self.field.type).decoded(pa.array([end], pa.large_binary()))[0].as_py()
        return _Place(1, key, self.top.descending)


@dataclass(frozen=True)
class _Place:
    """A place in the order: among nulls that come first (0), at a key (1), or among nulls that come last (2)."""

    part: int
    key: Any = None
    descending: bool = False

    def __lt__(self, other: _Place) -> bool:
        if self.part != other.part or self.part != 1:
            return self.part < other.part
        return bool(self.key > other.key if self.descending else self.key < other.key)

    def __gt__(self, other: _Place) -> bool:
        return other < self

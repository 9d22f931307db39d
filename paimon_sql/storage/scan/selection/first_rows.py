"""Top-N by global index: the rows among which the first ones by an indexed column are.

From each index file the first rows are taken, as many as are wanted in all; rows without an index, or changed since it
was built, are added. The reader sorts the result.
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
from paimon_sql.storage.scan.global_index.lookup import (
    bitmap_of_ranges,
    ranges_of,
    rows_of_files,
    search_index,
    usable_entries,
)
from paimon_sql.storage.scan.selection.top_n import TopN
from paimon_sql.storage.table.table import Table

_MAX_ROWS = 100_000
"""The max number of rows to search for; for more of them, reading the files is as fast."""


def first_rows(table: Table, snapshot: Snapshot | None, files: pa.Table, top: TopN) -> RowIds | None:
    """Rows that include the first ones, from ``btree`` global indexes; None if these cannot be used.

    Args:
        table: the table.
        snapshot: the snapshot to read.
        files: all live data files that may hold wanted rows, the order aside.
        top: the wanted rows.
    """
    field = table.schema.field(top.column)
    of_column = [e for e in usable_entries(table, snapshot, files, [field]) if e.file.index_type == BTree.name]
    # 0.0 and -0.0 are two keys but one value: a second column of the order decides between them.
    if not of_column or (KeyType(field.type).is_float and not top.alone):
        return None
    wrong = of_another_type(table, of_column, field)
    entries = [e for e in of_column if e.file.file_name not in wrong]
    deleted = [d.range.cardinality for d in deletions_of(table, snapshot).values()]
    wanted = top.limit + sum(d or 0 for d in deleted)
    if not entries or None in deleted or wanted > _MAX_ROWS:
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
            if bound is not None and begin > bound:
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

    def __gt__(self, other: _Position) -> bool:
        return other < self

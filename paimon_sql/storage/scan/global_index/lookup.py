"""Search of a snapshot's global indexes for the rows that a predicate may select.

Rows without an index, and rows changed since theirs was built, are always selected, unless the table is read with the
search mode ``fast``, which reads indexed rows only (Paimon: `global-index.search-mode`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import and_, or_
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.errors import CorruptFileError, MissingFileError, UnsupportedError
from paimon_sql.format.bytes.bounded import MAX_INDEXED_ROWS, decoding, exactly
from paimon_sql.format.global_index.base import GlobalIndexKind, GlobalIndexReader, check_rows, rows_of
from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.global_index.registry import KINDS
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry, KeyRange
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table import index
from paimon_sql.format.schema.types import ArrayType, DataField
from paimon_sql.storage.data_files.file_groups import groups_of_entries
from paimon_sql.storage.data_files.live_files import grouped
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import (
    And,
    Comparison,
    ContainsAny,
    In,
    IsNull,
    Or,
    Predicate,
    StartsWith,
)
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.scan.global_index.entries import (
    changed_since,
    covered,
    covered_rows,
    global_entries,
    meta_of,
    of_another_type,
)
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)
_FAST = "fast"
_MAX_ROW_ID = 1 << 62
Answer = TypeVar("Answer")


class IndexResults:
    """The results of global indexes for a predicate, cached for a scan that is planned several times."""

    def __init__(self, predicate: Predicate | None, *, thorough: bool = True) -> None:
        """Without a search: `rows` searches.

        Args:
            predicate: the condition.
            thorough: whether rows without an index are selected in any search mode.
        """
        self._predicate, self._thorough = predicate, thorough
        self._known: dict[tuple[str, int, int], RowIds | None] = {}

    def rows(self, table: Table, snapshot: Snapshot | None, files: pa.Table) -> RowIds | None:
        """The rows of a snapshot that the predicate may select; None if no index can be used.

        Args:
            table: the table.
            snapshot: the snapshot to read.
            files: the live data files that may hold a wanted row; the same for all calls with one snapshot.
        """
        if self._predicate is None or snapshot is None:
            return None
        key = (table.branch, snapshot.id, len(files))
        if key not in self._known:
            self._known[key] = _rows_to_read(table, snapshot, files, self._predicate, thorough=self._thorough)
        return self._known[key]


def _rows_to_read(
    table: Table, snapshot: Snapshot, files: pa.Table, predicate: Predicate, *, thorough: bool
) -> RowIds | None:
    fields = [f for f in table.schema.fields if f.name in predicate.columns()]
    entries = usable_entries(table, snapshot, files, fields)
    if not entries:
        return None
    search = _Search(table, files, entries, {f.name: f for f in fields}, thorough or not _is_fast(table))
    found = search.rows(predicate)
    return None if found is None else ranges_of(found & search.everything)


def usable_entries(
    table: Table, snapshot: Snapshot | None, files: pa.Table, fields: Sequence[DataField]
) -> list[IndexManifestEntry]:
    """The index files over some columns of some data files; none if the table's options disable indexes.

    Nor any if files or indexes claim more row ids than `MAX_INDEXED_ROWS`, nor those whose keys may have another type
    than the column has now.
    """
    if snapshot is None or snapshot.index_manifest is None or not len(files):
        return []
    if not (table.layout.groups_files and table.options.get(index.GLOBAL_INDEX_ENABLED)):
        return []
    if not _are_countable(files):
        return []
    types = {f.id: f.type for f in fields}
    partitions = set(pc.unique(files["partition"]).to_pylist())
    found = [
        e
        for e in global_entries(table, snapshot)
        if meta_of(e).index_field_id in types
        and not meta_of(e).extra_field_ids
        and e.partition in partitions
        and e.file.index_type in KINDS
        and KINDS[e.file.index_type].supports(types[meta_of(e).index_field_id])
        and 0 <= meta_of(e).row_range_start <= meta_of(e).row_range_end < _MAX_ROW_ID
    ]
    if sum(map(_rows_covered, found)) > MAX_INDEXED_ROWS:
        return []
    by_field = grouped((meta_of(e).index_field_id, e) for e in found)
    wrong = {name for f in fields for name in of_another_type(table, by_field.get(f.id, ()), f)}
    return [e for e in found if e.file.file_name not in wrong]


def _rows_covered(entry: IndexManifestEntry) -> int:
    meta = meta_of(entry)
    return meta.row_range_end + 1 - meta.row_range_start


def _are_countable(files: pa.Table) -> bool:
    """Whether the row ids of data files are valid and few enough for a bitmap."""
    known = files.filter(files["first_row_id"].is_valid())
    starts, counts = known["first_row_id"].to_numpy(), known["row_count"].to_numpy()
    return not len(known) or bool(
        starts.min() >= 0
        and counts.min() >= 0
        and counts.sum(dtype=np.float64) <= MAX_INDEXED_ROWS
        and starts.max() + counts.max() < _MAX_ROW_ID
    )


def _is_fast(table: Table) -> bool:
    """Whether the table's options restrict reads to indexed rows; by default all rows are read."""
    options = table.options
    if options.has(index.SCALAR_INDEX_SEARCH_MODE):
        return options.get(index.SCALAR_INDEX_SEARCH_MODE) == _FAST
    return options.get(index.GLOBAL_INDEX_SEARCH_MODE) == _FAST


def ranges_of(found: BitMap64) -> RowIds:
    """Convert a bitmap of row ids to ranges."""
    ids = rows_of(found)
    cuts = np.flatnonzero(np.diff(ids) > 1)
    if not len(ids):
        return RowIds(ids, ids)
    return RowIds(ids[np.append(0, cuts + 1)], ids[np.append(cuts, len(ids) - 1)] + 1)


@dataclass(frozen=True, eq=False)
class _Search:
    table: Table
    files: pa.Table
    entries: Sequence[IndexManifestEntry]
    fields: dict[str, DataField]
    thorough: bool

    @cached_property
    def everything(self) -> BitMap64:
        """All rows of the files."""
        return rows_of_files(self.files)

    def rows(self, predicate: Predicate) -> BitMap64 | None:
        """The rows that a predicate may select; None if no index can be used."""
        if isinstance(predicate, And):
            some = [rows for rows in map(self.rows, predicate.parts) if rows is not None]
            return reduce(and_, some) if some else None
        if isinstance(predicate, Or):
            every = [self.rows(part) for part in predicate.parts]
            known = [rows for rows in every if rows is not None]
            return reduce(or_, known) if len(known) == len(every) else None
        field = next((self.fields[name] for name in predicate.columns() if name in self.fields), None)
        search = None if field is None or len(predicate.columns()) > 1 else question(predicate, field)
        return None if search is None or field is None else self._answer(search, field)

    def _answer(self, search: IndexSearch, field: DataField) -> BitMap64 | None:
        """The rows of a condition on one column: those that its indexes find, and those without an index."""
        of_column = [e for e in self.entries if meta_of(e).index_field_id == field.id]
        changed = changed_since(self.table, self.files, of_column, field.id)
        found, seen = BitMap64(), BitMap64()
        for kind, entries in self._by_kind(of_column):
            chosen = _concerned(search, entries, keys_of(field.type))
            max_size = self.table.options.get(kind.max_search_bytes)
            if search.is_range and sum(e.file.file_size for e in chosen) > max_size:
                continue
            threads = self.table.file_io.threads_for(
                self.table.path, len(chosen), self.table.options.get(index.GLOBAL_INDEX_THREAD_NUM)
            )
            answers = map_in_threads(partial(self._asked, search, field, kind), chosen, threads)
            unreadable = {covered_rows(e) for e, rows in zip(chosen, answers, strict=True) if rows is None}
            readable = [e for e in entries if covered_rows(e) not in unreadable]
            ranges = bitmap_of_ranges(covered(readable))
            rows = reduce(or_, (r for r in answers if r is not None), BitMap64())
            found |= ranges - rows if search.inverted else rows & ranges
            found |= bitmap_of_ranges(covered(e for e in entries if covered_rows(e) in unreadable))
            seen |= ranges
        if not seen:
            return None
        for stale in changed.values():
            found |= bitmap_of_ranges(stale)
        return found | (self.everything - seen) if self.thorough else found

    def _by_kind(
        self, entries: Sequence[IndexManifestEntry]
    ) -> Iterator[tuple[GlobalIndexKind, list[IndexManifestEntry]]]:
        """The index files by kind; those of a later kind only if they cover rows that earlier kinds do not."""
        seen = BitMap64()
        for name, kind in KINDS.items():
            of_kind = [e for e in entries if e.file.index_type == name]
            fresh = [e for e in of_kind if not bitmap_of_ranges(covered([e])).issubset(seen)]
            if fresh:
                yield kind, fresh
                seen |= bitmap_of_ranges(covered(fresh))

    def _asked(
        self, search: IndexSearch, field: DataField, kind: GlobalIndexKind, entry: IndexManifestEntry
    ) -> BitMap64 | None:
        """The rows that an index file selects, by row id; None if it cannot be read."""
        rows = search_index(
            self.table, field, kind, entry, lambda reader: check_rows(search.ask(reader), _rows_covered(entry))
        )
        return None if rows is None else rows.shift(meta_of(entry).row_range_start)


def search_index(
    table: Table,
    field: DataField,
    kind: GlobalIndexKind,
    entry: IndexManifestEntry,
    ask: Callable[[GlobalIndexReader], Answer],
) -> Answer | None:
    """Search an index file; None if it cannot be read, for a scan can do without it."""
    path = index_path(table, entry)
    try:
        with table.file_io.open_input(path) as stream, decoding(f"the {kind.name} index of '{field.name}'", path):
            size = int(stream.size())
            read = exactly(lambda start, length: bytes(stream.read_at(length, start)), size, "a part of the index")
            return ask(kind.reader(read, size, keys_of(field.type)))
    except (MissingFileError, UnsupportedError, CorruptFileError) as error:
        _LOG.warning("%s: a global index is ignored: %s", table.name, error)
        return None


def rows_of_files(files: pa.Table) -> BitMap64:
    """The row ids of all rows of data files."""
    known = files.filter(files["first_row_id"].is_valid())
    numbers = groups_of_entries(known)
    _, heads = np.unique(numbers, return_index=True)
    starts = known["first_row_id"].to_numpy().astype(np.int64)
    ends = starts + known["row_count"].to_numpy()
    low, high = starts.copy(), ends.copy()
    np.minimum.at(low, heads[numbers], starts)
    np.maximum.at(high, heads[numbers], ends)
    return bitmap_of_ranges(RowIds.of_ranges(low[heads], high[heads]))


def _concerned(search: IndexSearch, entries: list[IndexManifestEntry], keys: IndexKeys) -> list[IndexManifestEntry]:
    """The index files that may hold wanted rows, by the key ranges in the manifest."""
    try:
        ranges = [KeyRange.read(meta_of(e).index_meta or b"") for e in entries]
        wanted = search.concerns(ranges, keys)
    except ValueError:
        return entries
    return [e for e, concerned in zip(entries, wanted.tolist(), strict=True) if concerned]


def bitmap_of_ranges(rows: RowIds) -> BitMap64:
    """Convert ranges of row ids to a bitmap."""
    found = BitMap64()
    for start, end in zip(rows.starts.tolist(), rows.ends.tolist(), strict=True):
        found.add_range(start, end)
    return found


@dataclass(frozen=True, eq=False)
class IndexSearch:
    """A search for rows with some keys, with keys in a range, or with null; or for all other rows.

    Attributes:
        keys: the wanted keys.
        low: the lower bound of the range; None for none.
        high: the upper bound.
        is_range: whether keys of a range are wanted.
        with_low: whether the range includes its lower bound.
        with_high: whether it includes its upper bound.
        nulls: whether rows with null are wanted.
        inverted: whether all other rows are wanted instead.
    """

    keys: pa.Array | None = None
    low: pa.Scalar | None = None
    high: pa.Scalar | None = None
    is_range: bool = False
    with_low: bool = True
    with_high: bool = True
    nulls: bool = False
    inverted: bool = False

    def ask(self, reader: GlobalIndexReader) -> BitMap64:
        """Search one index file; the caller inverts the result if ``inverted``."""
        found = reader.nulls() if self.nulls else BitMap64()
        if self.keys is not None:
            found |= reader.among(self.keys)
        if self.is_range:
            found |= reader.between(self.low, self.high, with_low=self.with_low, with_high=self.with_high)
        return found

    def concerns(self, ranges: Sequence[KeyRange], keys: IndexKeys) -> npt.NDArray[np.bool_]:
        """Whether each index file may hold wanted rows, by its key range.

        Raises:
            ValueError: a bound is not a valid key.
        """
        found = np.array([r.has_nulls for r in ranges], np.bool_) & self.nulls
        known = [i for i, r in enumerate(ranges) if r.first is not None and r.last is not None]
        if not known or (self.keys is None and not self.is_range):
            return found
        firsts, lasts = (
            keys.decoded(pa.array(ends, pa.large_binary()))
            for ends in ([ranges[i].first for i in known], [ranges[i].last for i in known])
        )
        overlaps = np.zeros(len(known), np.bool_)
        if self.keys is not None:
            wanted = _numpy(self.keys.take(pc.sort_indices(self.keys)))
            overlaps |= np.searchsorted(wanted, _numpy(firsts)) < np.searchsorted(wanted, _numpy(lasts), side="right")
        if self.is_range:
            inside = np.ones(len(known), np.bool_)
            if self.low is not None:
                inside &= pc.greater_equal(lasts, self.low).to_numpy(zero_copy_only=False)
            if self.high is not None:
                inside &= pc.less_equal(firsts, self.high).to_numpy(zero_copy_only=False)
            overlaps |= inside
        found[known] |= overlaps
        return found


def question(predicate: Predicate, field: DataField) -> IndexSearch | None:
    """The search for a condition on a column; None for conditions that indexes do not support."""
    keys = keys_of(field.type)
    if isinstance(field.type, ArrayType):
        return IndexSearch(keys=keys.equals(predicate.values)) if isinstance(predicate, ContainsAny) else None
    if isinstance(predicate, IsNull):
        return IndexSearch(nulls=True, inverted=predicate.negated)
    if isinstance(predicate, In):
        return IndexSearch(keys=keys.equals(predicate.values))
    if isinstance(predicate, StartsWith) and keys.is_text:
        prefix = predicate.prefix.encode()
        return IndexSearch(low=pa.scalar(prefix, pa.binary()), high=_after(prefix), is_range=True, with_high=False)
    if not isinstance(predicate, Comparison):
        return None
    value, operator = predicate.value, predicate.operator
    if operator in ("=", "!="):
        wanted = keys.equals(pa.repeat(value, 1))
        return IndexSearch(keys=wanted, nulls=operator == "!=", inverted=operator == "!=")
    bound = keys.bound(value, above=operator in ("<=", ">"))
    if operator in ("<", "<="):
        return IndexSearch(high=bound, is_range=True, with_high=operator == "<=")
    return IndexSearch(low=bound, is_range=True, with_low=operator == ">=")


def _numpy(keys: pa.Array) -> npt.NDArray[np.generic]:
    """Keys as a NumPy array, for a binary search."""
    return keys.to_numpy() if pa.types.is_integer(keys.type) else np.array(keys.to_pylist(), dtype=object)


def _after(prefix: bytes) -> pa.Scalar | None:
    """The smallest bytes after all that begin with a prefix; None if there are none."""
    head = prefix.rstrip(b"\xff")
    return pa.scalar(head[:-1] + bytes([head[-1] + 1]), pa.binary()) if head else None

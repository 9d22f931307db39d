"""Asking the global indexes of a snapshot for the rows that a condition may be true for.

Rows that no index covers, or whose values were changed since theirs was built, always belong to the answer, unless the
table is read with the search mode ``fast``, which looks at indexed rows only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import and_, or_
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.errors import CorruptFileError, MissingFileError, UnsupportedError
from paimon_sql.format.bytes.bounded import MAX_INDEXED_ROWS, decoding, exactly
from paimon_sql.format.global_index.base import GlobalIndexKind, GlobalIndexReader, check_rows, rows_of
from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.global_index.meta import KeyRange
from paimon_sql.format.global_index.registry import KINDS
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table.index import (
    GLOBAL_INDEX_ENABLED,
    GLOBAL_INDEX_SEARCH_MODE,
    GLOBAL_INDEX_THREAD_NUM,
    SCALAR_INDEX_SEARCH_MODE,
)
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.file_groups import groups_of_entries, has_data_evolution
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.expressions.predicates import And, Or, Predicate
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.scan.global_index.entries import (
    changed_since,
    covered,
    global_entries,
    meta_of,
    of_another_type,
    rows_named,
)
from paimon_sql.storage.scan.global_index.question import Question, question
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)
_FAST = "fast"
_MOST_IDS = 1 << 62
Answer = TypeVar("Answer")


class IndexAnswers:
    """What global indexes tell of the rows for a condition, asked once however often the scan is planned."""

    def __init__(self, predicate: Predicate | None, *, thorough: bool = True) -> None:
        """Ask nothing yet.

        Args:
            predicate: the condition.
            thorough: whether rows that no index covers count whatever the table's search mode.
        """
        self._predicate, self._thorough = predicate, thorough
        self._known: dict[tuple[str, int, int], RowIds | None] = {}

    def rows(self, table: Table, snapshot: Snapshot | None, files: pa.Table) -> RowIds | None:
        """The rows of a snapshot that the condition may be true for; None if no index tells of them.

        Args:
            table: the table.
            snapshot: the snapshot that is read.
            files: those of its live data files that may hold a wanted row; of one snapshot always the same.
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
    look = _Look(table, files, entries, {f.name: f for f in fields}, thorough or not _is_fast(table))
    found = look.rows(predicate)
    return None if found is None else ranges_of(found & look.everything)


def usable_entries(
    table: Table, snapshot: Snapshot | None, files: pa.Table, fields: Sequence[DataField]
) -> list[IndexManifestEntry]:
    """The index files that may tell of some columns' values in some data files; none if the table asks for none.

    Nor are there any where files or indexes claim more row ids than `MAX_INDEXED_ROWS`: a read does without them.
    """
    if snapshot is None or snapshot.index_manifest is None or not len(files):
        return []
    if not (has_data_evolution(table) and table.options.get(GLOBAL_INDEX_ENABLED)):
        return []
    if not _are_countable(files):
        return []
    types = {f.id: f.type for f in fields}
    there = set(pc.unique(files["partition"]).to_pylist())
    found = [
        e
        for e in global_entries(table, snapshot)
        if meta_of(e).index_field_id in types
        and not meta_of(e).extra_field_ids
        and e.partition in there
        and e.file.index_type in KINDS
        and KINDS[e.file.index_type].takes(types[meta_of(e).index_field_id])
        and 0 <= meta_of(e).row_range_start <= meta_of(e).row_range_end < _MOST_IDS
    ]
    return found if sum(map(_rows_covered, found)) <= MAX_INDEXED_ROWS else []


def _rows_covered(entry: IndexManifestEntry) -> int:
    meta = meta_of(entry)
    return meta.row_range_end + 1 - meta.row_range_start


def _are_countable(files: pa.Table) -> bool:
    """Whether the row ids of data files can be told apart one by one."""
    known = files.filter(files["first_row_id"].is_valid())
    starts, counts = known["first_row_id"].to_numpy(), known["row_count"].to_numpy()
    return not len(known) or bool(
        starts.min() >= 0
        and counts.min() >= 0
        and counts.sum(dtype=np.float64) <= MAX_INDEXED_ROWS
        and starts.max() + counts.max() < _MOST_IDS
    )


def _is_fast(table: Table) -> bool:
    """Whether the table asks for indexed rows only; without a word from it a search leaves no row out."""
    options = table.options
    if options.has(SCALAR_INDEX_SEARCH_MODE):
        return options.get(SCALAR_INDEX_SEARCH_MODE) == _FAST
    return options.get(GLOBAL_INDEX_SEARCH_MODE) == _FAST


def ranges_of(found: BitMap64) -> RowIds:
    """The ids of a bitmap as ranges."""
    ids = rows_of(found)
    cuts = np.flatnonzero(np.diff(ids) > 1)
    if not len(ids):
        return RowIds(ids, ids)
    return RowIds(ids[np.append(0, cuts + 1)], ids[np.append(cuts, len(ids) - 1)] + 1)


@dataclass(frozen=True, eq=False)
class _Look:
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
        """The rows that a condition may be true for; None if the indexes tell nothing."""
        if isinstance(predicate, And):
            told = [rows for rows in map(self.rows, predicate.parts) if rows is not None]
            return reduce(and_, told) if told else None
        if isinstance(predicate, Or):
            every = [self.rows(part) for part in predicate.parts]
            known = [rows for rows in every if rows is not None]
            return reduce(or_, known) if len(known) == len(every) else None
        field = next((self.fields[name] for name in predicate.columns() if name in self.fields), None)
        asked = None if field is None or len(predicate.columns()) > 1 else question(predicate, field)
        return None if asked is None or field is None else self._answer(asked, field)

    def _answer(self, asked: Question, field: DataField) -> BitMap64 | None:
        """The rows of a condition on one column: those that its indexes tell, and those they know nothing of."""
        held = [e for e in self.entries if meta_of(e).index_field_id == field.id]
        wrong = of_another_type(self.table, held, field)
        held = [e for e in held if e.file.file_name not in wrong]
        changed = changed_since(self.table, self.files, held, field.id)
        found, seen = BitMap64(), BitMap64()
        for kind, entries in self._by_kind(held):
            chosen = _concerned(asked, entries, keys_of(field.type))
            most = self.table.options.get(kind.most_to_search)
            if asked.is_range and sum(e.file.file_size for e in chosen) > most:
                continue
            threads = self.table.file_io.threads_for(
                self.table.path, len(chosen), self.table.options.get(GLOBAL_INDEX_THREAD_NUM)
            )
            answers = spread(partial(self._asked, asked, field, kind), chosen, threads)
            lost = {rows_named(e) for e, rows in zip(chosen, answers, strict=True) if rows is None}
            told = [e for e in entries if rows_named(e) not in lost]
            ranges = filled(covered(told))
            rows = reduce(or_, (r for r in answers if r is not None), BitMap64())
            found |= ranges - rows if asked.inverted else rows & ranges
            found |= filled(covered(e for e in entries if rows_named(e) in lost))
            seen |= ranges
        if not seen:
            return None
        for stale in changed.values():
            found |= filled(stale)
        return found | (self.everything - seen) if self.thorough else found

    def _by_kind(
        self, entries: Sequence[IndexManifestEntry]
    ) -> Iterator[tuple[GlobalIndexKind, list[IndexManifestEntry]]]:
        """The index files of each kind, those of a further kind only where it covers other rows."""
        seen = BitMap64()
        for name, kind in KINDS.items():
            of_kind = [e for e in entries if e.file.index_type == name]
            fresh = [e for e in of_kind if not filled(covered([e])).issubset(seen)]
            if fresh:
                yield kind, fresh
                seen |= filled(covered(fresh))

    def _asked(
        self, asked: Question, field: DataField, kind: GlobalIndexKind, entry: IndexManifestEntry
    ) -> BitMap64 | None:
        """The rows that an index file answers; None if it cannot be read."""
        rows = ask_index(
            self.table, field, kind, entry, lambda reader: check_rows(asked.ask(reader), _rows_covered(entry))
        )
        return None if rows is None else rows.shift(meta_of(entry).row_range_start)


def ask_index(
    table: Table,
    field: DataField,
    kind: GlobalIndexKind,
    entry: IndexManifestEntry,
    ask: Callable[[GlobalIndexReader], Answer],
) -> Answer | None:
    """What an index file answers; None if it cannot be read, for a scan does without it."""
    path = index_path(table, entry)
    try:
        with table.file_io.open_input(path) as stream, decoding(f"the {kind.name} index of '{field.name}'", path):
            size = int(stream.size())
            read = exactly(lambda start, length: bytes(stream.read_at(length, start)), size, "a part of the index")
            return ask(kind.reader(read, size, keys_of(field.type)))
    except (MissingFileError, UnsupportedError, CorruptFileError) as error:
        _LOG.warning("%s: a global index is left aside: %s", table.name, error)
        return None


def rows_of_files(files: pa.Table) -> BitMap64:
    """All rows of some data files, by their ids."""
    known = files.filter(files["first_row_id"].is_valid())
    numbers = groups_of_entries(known)
    _, heads = np.unique(numbers, return_index=True)
    starts = known["first_row_id"].to_numpy().astype(np.int64)
    ends = starts + known["row_count"].to_numpy()
    low, high = starts.copy(), ends.copy()
    np.minimum.at(low, heads[numbers], starts)
    np.maximum.at(high, heads[numbers], ends)
    return filled(RowIds.of_ranges(low[heads], high[heads]))


def _concerned(asked: Question, entries: list[IndexManifestEntry], keys: IndexKeys) -> list[IndexManifestEntry]:
    """The index files that may hold rows asked for, by what the manifest tells of their keys."""
    try:
        held = [KeyRange.read(meta_of(e).index_meta or b"") for e in entries]
        wanted = asked.concerns(held, keys)
    except ValueError:
        return entries
    return [e for e, concerned in zip(entries, wanted.tolist(), strict=True) if concerned]


def filled(rows: RowIds) -> BitMap64:
    """The bitmap of all ids of some ranges."""
    found = BitMap64()
    for start, end in zip(rows.starts.tolist(), rows.ends.tolist(), strict=True):
        found.add_range(start, end)
    return found

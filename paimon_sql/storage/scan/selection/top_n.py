"""Top-N by statistics: the files that can hold the first rows in the order of a column.

A file has a known number of rows up to its max value. Once files have as many rows as are wanted up to some value, no
wanted row comes after it: files that begin after it are skipped. Bounds may be wider than the values, as those of
truncated strings; a file with merged or deleted rows counts for fewer rows, one without bounds for none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import is_floating, is_ordered
from paimon_sql.storage.data_files.live_files import LiveFiles
from paimon_sql.storage.data_files.partition_statistics import partition_stats
from paimon_sql.storage.data_files.pruning.groups import stats_of_groups
from paimon_sql.storage.expressions.predicates import ColumnStats, Comparison, IsNull, Or, Predicate
from paimon_sql.storage.scan.selection.file_indexes import CHOOSING_ENGINES, FileKey, file_key, without_files
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
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


@dataclass(frozen=True)
class First:
    """The splits that can hold the first rows, and a condition that all these rows satisfy, if one is known."""

    splits: list[Split]
    condition: Predicate | None = None


def splits_with_first(table: Table, top: TopN, live: LiveFiles, splits: Sequence[Split]) -> First:
    """Skip files and groups of files that cannot hold one of the first rows.

    Args:
        table: the table of all splits.
        top: the wanted rows; statistics bound its column.
        live: all files of the splits, without rows that a predicate drops; its metrics are reduced by skipped files.
        splits: the splits.
    """
    stats, numbers = _stats(table, top, live)
    sure = np.zeros(len(numbers), np.int64)
    rows = stats.row_count.to_numpy(zero_copy_only=False).astype(np.int64)
    for split in splits:
        if split.raw:
            for file in split.anchors:
                at = numbers[file_key(split, file)]
                deletion = split.deletions.get(file.file_name)
                deleted = 0 if deletion is None else deletion.range.cardinality
                sure[at] = 0 if deleted is None else rows[at] - deleted - (file.delete_row_count or 0)
    wanted, condition = wanted_files(top, stats, sure)
    if wanted.all():
        return First(list(splits), condition)
    unwanted = frozenset(place for place, at in numbers.items() if not wanted[at])
    by_key = top.column in table.schema.primary_keys
    chooses = by_key or table.options.get(MERGE_ENGINE) in CHOOSING_ENGINES
    found: list[Split] = []
    for split in splits:
        rest: Split
        if isinstance(split, DataEvolutionSplit):
            rest = _of_groups(split, unwanted)
        else:
            rest = without_files(split, unwanted if chooses or split.raw else frozenset(), unwanted if by_key else None)
        live.metrics.files_read -= len(split.files) - len(rest.files)
        live.metrics.bytes_read -= split.size - rest.size
        if rest.files:
            found.append(rest)
    return First(found, condition)


def _of_groups(split: DataEvolutionSplit, unwanted: frozenset[FileKey]) -> DataEvolutionSplit:
    groups = tuple(g for g in split.groups if file_key(split, g.anchor) not in unwanted)
    if len(groups) == len(split.groups):
        return split
    return replace(split, groups=groups, files=tuple(f for g in groups for f in g.files))


def _stats(table: Table, top: TopN, live: LiveFiles) -> tuple[ColumnStats, Mapping[FileKey, int]]:
    """The statistics of the column in each file, and the index of each file in them."""
    entries, name = live.entries, top.column
    of_partitions = name in table.schema.partition_keys
    stats = (partition_stats if of_partitions else stats_of_groups)(table, entries, name)
    places = zip(*(entries[c].to_pylist() for c in ("partition", "bucket", "file_name")), strict=True)
    return stats, {place: i for i, place in enumerate(places)}


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

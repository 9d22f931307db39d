"""Sets of row ids as ranges, usable as predicates on ``_ROW_ID``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowIds(Predicate):
    """The row's id is in one of several ranges.

    Attributes:
        starts: the first id of each range, ascending.
        ends: the exclusive end of each range; less than the next start.
    """

    starts: Longs
    ends: Longs

    @classmethod
    def of_ranges(cls, starts: Longs, ends: Longs) -> RowIds:
        """Merge ranges in any order, which may be adjacent and overlap."""
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        max_end = np.maximum.accumulate(ends)
        is_start = np.ones(len(starts), np.bool_)
        is_start[1:] = starts[1:] > max_end[:-1]
        heads = np.flatnonzero(is_start)
        return cls(starts[heads], max_end[np.append(heads[1:], len(starts)) - 1] if len(heads) else max_end)

    @property
    def count(self) -> int:
        """The number of ids."""
        return int((self.ends - self.starts).sum())

    def columns(self) -> frozenset[str]:
        return frozenset([ROW_ID.name])

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        ids = columns[ROW_ID.name]
        if not len(self.starts):
            return pa.array(np.zeros(len(ids), np.bool_))
        numbers = pc.fill_null(ids, -1).to_numpy(zero_copy_only=False)
        index = np.searchsorted(self.starts, numbers, side="right") - 1
        return pa.array((index >= 0) & (numbers < self.ends[np.maximum(index, 0)]))

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        stats_of_ids = stats[ROW_ID.name]
        low = pc.fill_null(stats_of_ids.minimum, 0).to_numpy(zero_copy_only=False)
        high = pc.fill_null(stats_of_ids.maximum, 0).to_numpy(zero_copy_only=False)
        known = pc.and_(pc.is_valid(stats_of_ids.minimum), pc.is_valid(stats_of_ids.maximum))
        return pc.or_(pc.invert(known), pa.array(self.meets(low, high + 1)))

    def meets(self, starts: Longs, ends: Longs) -> npt.NDArray[np.bool_]:
        """Return whether each of other half-open ranges contains an id."""
        if not len(self.starts):
            return np.zeros(len(starts), np.bool_)
        index = np.searchsorted(self.ends, starts, side="right")
        return (index < len(self.starts)) & (self.starts[np.minimum(index, len(self.starts) - 1)] < ends)

    def within(self, start: int, end: int) -> RowIds:
        """Return the ids in a half-open range."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left"))
        return RowIds(np.maximum(self.starts[first:last], start), np.minimum(self.ends[first:last], end))

    def __str__(self) -> str:
        return f"{ROW_ID.name} IN {self.count} ids"

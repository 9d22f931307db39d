"""Sets of row ids as ranges, which work as conditions on ``_ROW_ID``."""

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
    """The row's id is in one of some ranges.

    Attributes:
        starts: the first id of each range, ascending.
        ends: the id behind the last of each; before the next range begins.
    """

    starts: Longs
    ends: Longs

    @classmethod
    def of_ranges(cls, starts: Longs, ends: Longs) -> RowIds:
        """Ranges in any order, which may meet and overlap."""
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        reach = np.maximum.accumulate(ends)
        fresh = np.ones(len(starts), np.bool_)
        fresh[1:] = starts[1:] > reach[:-1]
        heads = np.flatnonzero(fresh)
        return cls(starts[heads], reach[np.append(heads[1:], len(starts)) - 1] if len(heads) else reach)

    @property
    def count(self) -> int:
        """How many ids there are."""
        return int((self.ends - self.starts).sum())

    def columns(self) -> frozenset[str]:
        return frozenset([ROW_ID.name])

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        ids = columns[ROW_ID.name]
        if not len(self.starts):
            return pa.array(np.zeros(len(ids), np.bool_))
        numbers = pc.fill_null(ids, -1).to_numpy(zero_copy_only=False)
        place = np.searchsorted(self.starts, numbers, side="right") - 1
        return pa.array((place >= 0) & (numbers < self.ends[np.maximum(place, 0)]))

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        known = stats[ROW_ID.name]
        low = pc.fill_null(known.minimum, 0).to_numpy(zero_copy_only=False)
        high = pc.fill_null(known.maximum, 0).to_numpy(zero_copy_only=False)
        told = pc.and_(pc.is_valid(known.minimum), pc.is_valid(known.maximum))
        return pc.or_(pc.invert(told), pa.array(self.meets(low, high + 1)))

    def meets(self, starts: Longs, ends: Longs) -> npt.NDArray[np.bool_]:
        """Of other ranges, each from its start up to before its end, whether an id is in them."""
        if not len(self.starts):
            return np.zeros(len(starts), np.bool_)
        place = np.searchsorted(self.ends, starts, side="right")
        return (place < len(self.starts)) & (self.starts[np.minimum(place, len(self.starts) - 1)] < ends)

    def within(self, start: int, end: int) -> RowIds:
        """Those of the ids that lie from one on and before another."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left"))
        return RowIds(np.maximum(self.starts[first:last], start), np.minimum(self.ends[first:last], end))

    def negate(self) -> None:
        return None

    def __str__(self) -> str:
        return f"{ROW_ID.name} IN {self.count} ids"

"""Sequence groups of partial updates: which rows are new enough to change the columns of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_SEQUENCE_GROUP
from paimon_sql.format.options.values import comma_separated
from paimon_sql.storage.expressions.kernels.segments import Mask, Segments
from paimon_sql.storage.expressions.kernels.sorting import Indices, SortColumn, comparable, group_starts, sort_order
from paimon_sql.storage.merge.aggregates.base import valid_mask


@dataclass(frozen=True)
class SequenceGroup:
    """Columns that change together, and the columns by which is told whether they do.

    Attributes:
        ordering: the columns that are compared, one after the other; null comes before everything.
        members: the columns that change.
    """

    ordering: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.ordering, *self.members)


def sequence_groups(options: TableOptions) -> tuple[SequenceGroup, ...]:
    """The groups that a table's options describe."""
    return tuple(
        SequenceGroup(comma_separated(names[0]), comma_separated(text))
        for names, text in options.matching(FIELD_SEQUENCE_GROUP)
    )


def ranks(ordering: Sequence[pa.Array]) -> Indices:
    """The order of the rows by some columns as numbers, equal rows alike; 0 for rows that hold nothing but nulls."""
    columns = [comparable(column) for column in ordering]
    order = sort_order([SortColumn(column) for column in columns])
    numbers = np.empty(len(order), dtype=np.int64)
    starts = group_starts(columns, order)
    numbers[order] = np.searchsorted(starts, np.arange(len(order)), side="right")
    known = np.zeros(len(order), dtype=np.bool_)
    for column in columns:
        known |= valid_mask(column)
    return np.where(known, numbers, 0)


def accepted(rank: Indices, segments: Segments, begins: Mask | None = None) -> Mask:
    """Which rows are at least as new as all before them in their key.

    Args:
        rank: what `ranks` gives; rows of rank 0 are never accepted.
        segments: the keys.
        begins: rows behind which nothing older counts, as after a removal; each belongs to what it begins.
    """
    eras = segments.owners if begins is None else segments.owners + np.cumsum(begins)
    wide = eras * (int(rank.max(initial=0)) + 1) + rank
    found: Mask = (rank > 0) & (wide == np.maximum.accumulate(wide))
    return found

"""Rows in consecutive groups, and where in each group something is first or last."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paimon_sql.storage.expressions.kernels.sorting import Indices

Mask = npt.NDArray[np.bool_]
NOWHERE = -1
"""Stands for a row that there is not."""


@dataclass(frozen=True)
class Segments:
    """Which group each row of a sequence belongs to; the rows of a group follow each other, and a group may be empty.

    Attributes:
        owners: the number of each row's group, ascending.
        count: how many groups there are.
    """

    owners: Indices
    count: int

    @classmethod
    def of_starts(cls, starts: Indices, rows: int) -> Segments:
        """The groups that begin at these positions, none of them empty."""
        return cls(np.repeat(np.arange(len(starts)), np.diff(starts, append=rows)), len(starts))

    def __len__(self) -> int:
        return len(self.owners)

    @cached_property
    def starts(self) -> Indices:
        """Where the groups that are not empty begin, for ``reduceat``."""
        if not len(self.owners):
            return np.empty(0, dtype=np.int64)
        changes: Indices = np.concatenate([[0], np.flatnonzero(self.owners[1:] != self.owners[:-1]) + 1])
        return changes

    @cached_property
    def present(self) -> Indices:
        """The numbers of the groups that are not empty."""
        return self.owners[self.starts]

    @cached_property
    def places(self) -> Indices:
        """The position of each row in its group, from 0."""
        lengths = np.diff(self.starts, append=len(self.owners))
        places: Indices = np.arange(len(self.owners)) - np.repeat(self.starts, lengths)
        return places

    def where(self, mask: Mask) -> Segments:
        """The same groups with only some of their rows."""
        return Segments(self.owners[mask], self.count)

    def first(self, mask: Mask | None = None) -> Indices:
        """The position of each group's first row, of those in the mask; NOWHERE in a group without one."""
        found = np.full(self.count, NOWHERE, dtype=np.int64)
        rows = np.arange(len(self.owners)) if mask is None else np.flatnonzero(mask)
        found[self.owners[rows][::-1]] = rows[::-1]
        return found

    def last(self, mask: Mask | None = None) -> Indices:
        """The position of each group's last row, of those in the mask; NOWHERE in a group without one."""
        found = np.full(self.count, NOWHERE, dtype=np.int64)
        rows = np.arange(len(self.owners)) if mask is None else np.flatnonzero(mask)
        found[self.owners[rows]] = rows
        return found

    def counts(self, mask: Mask | None = None) -> Indices:
        """How many rows each group has, of those in the mask."""
        owners = self.owners if mask is None else self.owners[mask]
        return np.bincount(owners, minlength=self.count).astype(np.int64)

    def any(self, mask: Mask) -> Mask:
        """Which groups have a row in the mask."""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.owners[mask]] = True
        return found


def settled(segments: Segments, sets: Mask, clears: Mask, fills: Mask) -> Indices:
    """The row whose value each group ends with, where rows set it, clear it, or fill it in only if it is missing.

    Returns:
        The positions; NOWHERE in a group that ends without a value.
    """
    decisive = segments.last(sets | clears)
    is_set = (decisive != NOWHERE) & sets[decisive]
    if not fills.any():
        return np.where(is_set, decisive, NOWHERE)
    after = fills & (np.arange(len(segments)) > decisive[segments.owners])
    return np.where(is_set, decisive, segments.first(after))


def regrouped(segments: Segments, codes: Indices) -> tuple[Indices, Segments, Indices]:
    """Groups of equal codes inside the groups.

    Args:
        segments: the groups.
        codes: a number of each row, not negative.

    Returns:
        The permutation that brings the rows of each new group together, in the order in which they were; the new groups
        of the permuted rows, in the order of the old ones and inside them of their first rows; the old group of each.
    """
    if not len(codes):
        return np.empty(0, dtype=np.int64), Segments(np.empty(0, dtype=np.int64), 0), np.empty(0, dtype=np.int64)
    wide = segments.owners * (int(codes.max()) + 1) + codes
    _, firsts, numbers = np.unique(wide, return_index=True, return_inverse=True)
    # Numbered by their first rows, the new groups keep the order in which they came up.
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts, kind="stable")] = np.arange(len(firsts))
    owners = rank[numbers]
    order = np.argsort(owners, kind="stable")
    return order, Segments(owners[order], len(firsts)), segments.owners[np.sort(firsts)]

"""Rows in consecutive groups, and the first or last position per group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paimon_sql.storage.expressions.kernels.sorting import Indices

Mask = npt.NDArray[np.bool_]
NOWHERE = -1
"""Position of a row that does not exist."""


@dataclass(frozen=True)
class Segments:
    """The group of each row of a sequence; the rows of a group are consecutive, and a group may be empty.

    Attributes:
        owners: the index of each row's group, ascending.
        count: number of groups.
    """

    owners: Indices
    count: int

    @classmethod
    def of_starts(cls, starts: Indices, rows: int) -> Segments:
        """Create the non-empty groups that begin at these positions."""
        return cls(np.repeat(np.arange(len(starts)), np.diff(starts, append=rows)), len(starts))

    def __len__(self) -> int:
        return len(self.owners)

    @cached_property
    def starts(self) -> Indices:
        """The start positions of the non-empty groups, for ``reduceat``."""
        if not len(self.owners):
            return np.empty(0, dtype=np.int64)
        changes: Indices = np.concatenate([[0], np.flatnonzero(self.owners[1:] != self.owners[:-1]) + 1])
        return changes

    @cached_property
    def present(self) -> Indices:
        """The indices of the non-empty groups."""
        return self.owners[self.starts]

    @cached_property
    def places(self) -> Indices:
        """The position of each row in its group, from 0."""
        lengths = np.diff(self.starts, append=len(self.owners))
        places: Indices = np.arange(len(self.owners)) - np.repeat(self.starts, lengths)
        return places

    def where(self, mask: Mask) -> Segments:
        """Return the same groups with only the rows of the mask."""
        return Segments(self.owners[mask], self.count)

    def first(self, mask: Mask | None = None) -> Indices:
        """Return the position of each group's first row in the mask; NOWHERE without one."""
        found = np.full(self.count, NOWHERE, dtype=np.int64)
        rows = np.arange(len(self.owners)) if mask is None else np.flatnonzero(mask)
        found[self.owners[rows][::-1]] = rows[::-1]
        return found

    def last(self, mask: Mask | None = None) -> Indices:
        """Return the position of each group's last row in the mask; NOWHERE without one."""
        found = np.full(self.count, NOWHERE, dtype=np.int64)
        rows = np.arange(len(self.owners)) if mask is None else np.flatnonzero(mask)
        found[self.owners[rows]] = rows
        return found

    def counts(self, mask: Mask | None = None) -> Indices:
        """Return the number of rows per group, of those in the mask."""
        owners = self.owners if mask is None else self.owners[mask]
        return np.bincount(owners, minlength=self.count).astype(np.int64)

    def any(self, mask: Mask) -> Mask:
        """Return which groups have a row in the mask."""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.owners[mask]] = True
        return found


def settled(segments: Segments, sets: Mask, clears: Mask, fills: Mask) -> Indices:
    """Return the row with each group's final value, where rows set it, clear it, or fill it only if it is missing.

    Returns:
        The positions; NOWHERE for a group without a final value.
    """
    decisive = segments.last(sets | clears)
    is_set = (decisive != NOWHERE) & sets[decisive]
    if not fills.any():
        return np.where(is_set, decisive, NOWHERE)
    later_fills = fills & (np.arange(len(segments)) > decisive[segments.owners])
    return np.where(is_set, decisive, segments.first(later_fills))


def regrouped(segments: Segments, codes: Indices) -> tuple[Indices, Segments, Indices]:
    """Split groups into groups of equal codes.

    Args:
        segments: the groups.
        codes: a non-negative number per row.

    Returns:
        A stable permutation that makes the rows of each new group consecutive; the new groups of the permuted rows,
            ordered by old group and then by first row; the old group of each new one.
    """
    if not len(codes):
        return np.empty(0, dtype=np.int64), Segments(np.empty(0, dtype=np.int64), 0), np.empty(0, dtype=np.int64)
    wide = segments.owners * (int(codes.max()) + 1) + codes
    _, firsts, numbers = np.unique(wide, return_index=True, return_inverse=True)
    # Numbered by their first rows, the new groups keep their order of appearance.
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts, kind="stable")] = np.arange(len(firsts))
    owners = rank[numbers]
    order = np.argsort(owners, kind="stable")
    return order, Segments(owners[order], len(firsts)), segments.owners[np.sort(firsts)]

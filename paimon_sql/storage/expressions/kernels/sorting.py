"""The order of keys: vectorized stable sorting, the boundaries of keys, and groups of consecutive rows.

Keys compare column by column like Paimon's comparators: numbers by value, strings and bytes by unsigned bytes,
floating-point numbers in Java's total order, with -0.0 before 0.0 and NaN last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Indices = npt.NDArray[np.int64]
_FLOAT_BITS = {pa.float32(): "i4", pa.float64(): "i8"}


@dataclass(frozen=True)
class SortColumn:
    """A sort column; nulls come first in both directions."""

    values: pa.Array
    descending: bool = False


def combined(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        return pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    return whole


def comparable(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Convert a column to a type whose natural order is the order of keys."""
    flat = combined(array)
    if pa.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()
    kind = flat.type
    if kind in _FLOAT_BITS:
        bits = flat.fill_null(0).to_numpy(zero_copy_only=False)
        # All NaNs are equal in Java; the order of negatives is reversed by flipping their other bits.
        raw = np.where(np.isnan(bits), np.array(np.nan, bits.dtype), bits).view(_FLOAT_BITS[kind])
        ordered = np.where(raw < 0, np.bitwise_xor(raw, np.iinfo(raw.dtype).max), raw)
        mask = flat.is_null().to_numpy(zero_copy_only=False) if flat.null_count else None
        return pa.array(ordered, mask=mask)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return flat.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return flat.cast(pa.int64())
    return flat


def ordinals(values: pa.Array) -> npt.NDArray[np.generic]:
    """Return numbers in the order of the values, equal for equal values; arbitrary for nulls."""
    ordered = comparable(values)
    if pa.types.is_boolean(ordered.type):
        ordered = ordered.cast(pa.int8())
    if not pa.types.is_integer(ordered.type):
        ordered = pc.rank(ordered, tiebreaker="dense")
    numbers: npt.NDArray[np.generic] = ordered.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def sort_order(columns: Sequence[SortColumn]) -> Indices:
    """Return the stable permutation that sorts the rows."""
    if all(_is_plain(c) for c in columns):
        arrays = [_signed(c) for c in columns]
        if len(arrays) == 1:
            return np.argsort(arrays[0], kind="stable")
        return np.lexsort(arrays[::-1])
    names = [str(i) for i in range(len(columns))]
    table = pa.table([c.values for c in columns], names=names)
    directions = ["descending" if c.descending else "ascending" for c in columns]
    options = pc.SortOptions([(n, d, "at_start") for n, d in zip(names, directions, strict=True)])
    order: Indices = pc.sort_indices(table, options=options).to_numpy().astype(np.int64, copy=False)
    return order


def group_starts(columns: Sequence[pa.Array], order: Indices) -> Indices:
    """Return the positions in a sorted order at which a new key begins, including the first; empty without rows."""
    if not len(order):
        return np.empty(0, dtype=np.int64)
    changes = np.zeros(len(order) - 1, dtype=bool)
    for column in columns:
        if not column.null_count and pa.types.is_integer(column.type):
            values = column.to_numpy()[order]
            changes |= values[1:] != values[:-1]
        else:
            values = column.take(pa.array(order))
            same = pc.equal(values[1:], values[:-1])
            if column.null_count:
                both = pc.and_(pc.is_null(values[1:]), pc.is_null(values[:-1]))
                same = pc.or_(pc.fill_null(same, False), both)
            changes |= ~same.to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def dense_ranks(columns: Sequence[pa.Array]) -> Indices:
    """Return the rank of each row by key, from 1; equal for equal keys."""
    keys = [comparable(column) for column in columns]
    order = sort_order([SortColumn(key) for key in keys])
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.searchsorted(group_starts(keys, order), np.arange(len(order)), side="right")
    return ranks


def run_starts(values: npt.NDArray[np.generic]) -> Indices:
    """Return the positions at which a run of equal values begins; empty without values."""
    return np.flatnonzero(np.concatenate([np.ones(min(len(values), 1), np.bool_), values[1:] != values[:-1]]))


def _is_plain(column: SortColumn) -> bool:
    return pa.types.is_integer(column.values.type) and not column.values.null_count


def _signed(column: SortColumn) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.values.to_numpy()
    # The complement reverses the order of integers without overflow.
    return np.invert(values) if column.descending else values


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
        return run_starts(self.owners)

    @cached_property
    def present(self) -> Indices:
        """The indices of the non-empty groups."""
        return self.owners[self.starts]

    @cached_property
    def places(self) -> Indices:
        """The position of each row in its group, from 0."""
        lengths = np.diff(self.starts, append=len(self.owners))
        return np.arange(len(self.owners)) - np.repeat(self.starts, lengths)

    def where(self, mask: Mask) -> Segments:
        """Return the same groups with only the rows of the mask."""
        return Segments(self.owners[mask], self.count)

    def first(self, mask: Mask | None = None) -> Indices:
        """Return the position of each group's first row in the mask; NOWHERE without one."""
        return self._last_of(self._rows(mask)[::-1])

    def last(self, mask: Mask | None = None) -> Indices:
        """Return the position of each group's last row in the mask; NOWHERE without one."""
        return self._last_of(self._rows(mask))

    def _rows(self, mask: Mask | None) -> Indices:
        return np.arange(len(self.owners)) if mask is None else np.flatnonzero(mask)

    def _last_of(self, rows: Indices) -> Indices:
        found = np.full(self.count, NOWHERE, dtype=np.int64)
        found[self.owners[rows]] = rows
        return found

    def counts(self) -> Indices:
        """Return the number of rows per group."""
        return np.bincount(self.owners, minlength=self.count).astype(np.int64)

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

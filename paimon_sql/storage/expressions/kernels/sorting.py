"""The order of keys: vectorized stable sorting, and the boundaries of keys.

Keys compare column by column like Paimon's comparators: numbers by value, strings and bytes by unsigned bytes,
floating-point numbers in Java's total order, with -0.0 before 0.0 and NaN last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Indices = npt.NDArray[np.int64]
_FLOAT_BITS: dict[pa.DataType, Any] = {pa.float32(): np.int32, pa.float64(): np.int64}


@dataclass(frozen=True)
class SortColumn:
    """A sort column; nulls come first in both directions."""

    values: pa.Array
    descending: bool = False


def comparable(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Convert a column to a type whose natural order is the order of keys."""
    flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(flat, pa.ChunkedArray):
        flat = pa.concat_arrays(flat.chunks) if flat.num_chunks else pa.array([], flat.type)
    if pa.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()
    kind = flat.type
    if kind in _FLOAT_BITS:
        signed = _FLOAT_BITS[kind]
        bits = flat.fill_null(0).to_numpy(zero_copy_only=False)
        # All NaNs are equal in Java; the order of negatives is reversed by flipping their other bits.
        raw = np.where(np.isnan(bits), np.array(np.nan, bits.dtype), bits).view(signed)
        ordered = np.where(raw < 0, np.bitwise_xor(raw, np.iinfo(signed).max), raw)
        mask = flat.is_null().to_numpy(zero_copy_only=False) if flat.null_count else None
        return pa.array(ordered, mask=mask)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return flat.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return flat.cast(pa.int64())
    return flat


def ordinals(values: pa.Array) -> npt.NDArray[Any]:
    """Return numbers in the order of the values, equal for equal values; arbitrary for nulls."""
    ordered = comparable(values)
    if pa.types.is_boolean(ordered.type):
        ordered = ordered.cast(pa.int8())
    if not pa.types.is_integer(ordered.type):
        ordered = pc.rank(ordered, tiebreaker="dense")
    numbers: npt.NDArray[Any] = ordered.fill_null(0).to_numpy(zero_copy_only=False)
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
    starts: Indices = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return starts


def _is_plain(column: SortColumn) -> bool:
    return pa.types.is_integer(column.values.type) and not column.values.null_count


def _signed(column: SortColumn) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.values.to_numpy()
    # The complement reverses the order of integers without overflow.
    return np.invert(values) if column.descending else values

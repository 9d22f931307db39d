"""Equality of rows, including nested values; nulls equal nulls, NaN equals nothing, like Java's ``==``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.expressions.kernels.sorting import Mask, combined


def rows_equal(one: pa.Table, other: pa.Table, columns: Sequence[str]) -> Mask:
    """Whether each pair of rows of two tables of equal length has equal values in these columns."""
    equal = np.ones(len(one), dtype=np.bool_)
    for name in columns:
        equal &= _equal(combined(one[name]), combined(other[name]))
    return equal


def _equal(one: pa.Array, other: pa.Array) -> Mask:
    empty, other_empty = (a.is_null().to_numpy(zero_copy_only=False) for a in (one, other))
    both = ~(empty | other_empty)
    equal: Mask = (empty & other_empty) | (both & _same_values(one, other, both))
    return equal


def _same_values(one: pa.Array, other: pa.Array, both: Mask) -> Mask:
    kind = one.type
    if pa.types.is_struct(kind):
        parts = [_equal(one.field(i), other.field(i)) for i in range(kind.num_fields)]
        return np.logical_and.reduce(parts) if parts else np.ones(len(one), dtype=np.bool_)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _same_lists(one, other, both)
    found: Mask = pc.equal(one, other).fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _same_lists(one: pa.Array, other: pa.Array, both: Mask) -> Mask:
    """Whether lists have equal lengths and pairwise equal elements; a map is a list of its entries."""
    lengths = [np.diff(a.offsets.to_numpy()) for a in (one, other)]
    equal = both & (lengths[0] == lengths[1])
    rows = np.flatnonzero(equal)
    counts = lengths[0][rows]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = [a.offsets.to_numpy()[:-1][rows] for a in (one, other)]
    elements = [
        _elements(a).take(pa.array(np.repeat(s, counts) + within)) for a, s in zip((one, other), starts, strict=True)
    ]
    differs: Mask = np.bincount(np.repeat(rows, counts)[~_equal(*elements)], minlength=len(one)) > 0
    found: Mask = equal & ~differs
    return found


def _elements(array: pa.Array) -> pa.Array:
    if pa.types.is_map(array.type):
        return pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
    return array.values

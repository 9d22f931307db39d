"""Decimals as unscaled integers: in 64 bits if they fit, else as Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.bytes.memory import Bytes, Longs, Mask
from paimon_sql.format.variant.byte_ranges import bitmap

Integers = npt.NDArray[Any]
"""Integers as int64, or as objects if one of them is too large."""

_MAX_LONG, _MIN_LONG = 2**63 - 1, -(2**63)


def from_sixteen_bytes(rows: Bytes) -> Integers:
    """Decode rows of 16 bytes, little-endian and signed."""
    halves = np.ascontiguousarray(rows).view("<i8")
    low, high = halves[:, 0], halves[:, 1]
    if (high == low >> 63).all():
        return low.astype(np.int64)
    numbers: Integers = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return numbers


def to_sixteen_bytes(numbers: Integers) -> Bytes:
    """Encode numbers as rows of 16 bytes, little-endian and signed."""
    halves = np.empty((len(numbers), 2), np.int64)
    if numbers.dtype == object:
        halves[:, 0] = (numbers & (2**64 - 1)).astype(np.uint64).view(np.int64)
        halves[:, 1] = (numbers >> 64).astype(np.int64)
    else:
        halves[:, 0], halves[:, 1] = numbers, numbers >> 63
    return halves.view(np.uint8)


def rescaled(numbers: Integers, scales: Longs, scale: int, maximum: int) -> tuple[Integers, Mask]:
    """Convert decimals to another scale; with the mask of exact results between ``-maximum`` and ``maximum``.

    Args:
        numbers: the unscaled numbers.
        scales: the scale of each.
        scale: the new scale.
        maximum: max absolute value of a result.
    """
    wide = numbers.dtype == object or maximum > _MAX_LONG
    work = numbers.astype(object) if wide else numbers
    results, fits = np.zeros(len(work), work.dtype), np.zeros(len(work), np.bool_)
    for found in np.unique(scales):
        here = scales == found
        some, factor = work[here], 10 ** abs(scale - int(found))
        if found <= scale:
            exact = (some <= maximum // factor) & (some >= -(maximum // factor))
            results[here] = np.where(exact, some, 0) * factor if factor <= _MAX_LONG or wide else 0
            fits[here] = exact
        elif factor > _MAX_LONG and not wide:
            fits[here] = some == 0
        else:
            quotient = some // factor
            results[here] = quotient
            fits[here] = (quotient * factor == some) & (quotient <= maximum) & (quotient >= -maximum)
    return results, fits.astype(np.bool_)


def decimal_array(numbers: Integers, kind: pa.Decimal128Type, present: Mask) -> pa.Array:
    """Convert unscaled numbers to an Arrow array."""
    raw = to_sixteen_bytes(numbers)
    return pa.Array.from_buffers(kind, len(numbers), [bitmap(present), pa.py_buffer(np.ascontiguousarray(raw))])


def digits(numbers: Integers) -> Longs:
    """The number of decimal digits of each number; 1 for zero."""
    counts = np.ones(len(numbers), np.int64)
    for exponent in range(1, 38):
        bound = 10**exponent
        if numbers.dtype != object and bound > _MAX_LONG:
            break
        longer = (numbers >= bound) | (numbers <= -bound)
        if not longer.any():
            break
        counts += longer.astype(np.int64)
    return counts

"""Decimals as whole numbers of some scale: in 64 bits where they fit, as Python's own numbers where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.bytes.memory import Bytes, Longs, Mask
from paimon_sql.format.variant.byte_ranges import bitmap

Whole = npt.NDArray[Any]
"""Whole numbers as int64, or as objects if one of them is too great for that."""

_MOST, _LEAST = 2**63 - 1, -(2**63)


def from_sixteen_bytes(rows: Bytes) -> Whole:
    """Numbers out of rows of 16 bytes, little-endian with a sign."""
    halves = np.ascontiguousarray(rows).view("<i8")
    low, high = halves[:, 0], halves[:, 1]
    if (high == low >> 63).all():
        return low.astype(np.int64)
    numbers: Whole = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return numbers


def to_sixteen_bytes(numbers: Whole) -> Bytes:
    """Rows of 16 bytes, little-endian with a sign."""
    halves = np.empty((len(numbers), 2), np.int64)
    if numbers.dtype == object:
        halves[:, 0] = (numbers & (2**64 - 1)).astype(np.uint64).view(np.int64)
        halves[:, 1] = (numbers >> 64).astype(np.int64)
    else:
        halves[:, 0], halves[:, 1] = numbers, numbers >> 63
    return halves.view(np.uint8)


def rescaled(numbers: Whole, scales: Longs, scale: int, most: int) -> tuple[Whole, Mask]:
    """The same numbers under another scale, and which of them are exact there and no greater than ``most``.

    Args:
        numbers: the numbers without their scales.
        scales: the scale of each.
        scale: the scale wanted.
        most: the greatest number, and without its sign the least one.
    """
    wide = numbers.dtype == object or most > _MOST
    work = numbers.astype(object) if wide else numbers
    made, fits = np.zeros(len(work), work.dtype), np.zeros(len(work), np.bool_)
    for found in np.unique(scales):
        here = scales == found
        some, factor = work[here], 10 ** abs(scale - int(found))
        if found <= scale:
            exact = (some <= most // factor) & (some >= -(most // factor))
            made[here] = np.where(exact, some, 0) * factor if factor <= _MOST or wide else 0
            fits[here] = exact
        elif factor > _MOST and not wide:
            fits[here] = some == 0
        else:
            whole = some // factor
            made[here] = whole
            fits[here] = (whole * factor == some) & (whole <= most) & (whole >= -most)
    return made, fits.astype(np.bool_)


def decimal_array(numbers: Whole, kind: pa.Decimal128Type, present: Mask) -> pa.Array:
    """Numbers without their scale as an Arrow array."""
    raw = to_sixteen_bytes(numbers)
    return pa.Array.from_buffers(kind, len(numbers), [bitmap(present), pa.py_buffer(np.ascontiguousarray(raw))])


def digits(numbers: Whole) -> Longs:
    """How many decimal digits each number has; zero has one."""
    found = np.ones(len(numbers), np.int64)
    for more in range(1, 38):
        bound = 10**more
        if numbers.dtype != object and bound > _MOST:
            break
        longer = (numbers >= bound) | (numbers <= -bound)
        if not longer.any():
            break
        found += longer.astype(np.int64)
    return found

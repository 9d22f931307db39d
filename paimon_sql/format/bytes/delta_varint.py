"""Delta varints: integers as zigzag-encoded differences of neighbours, seven bits per byte (spec: Blob File).

The indexes of blob files have this encoding. The lowest bits come first.
"""

from __future__ import annotations

import numpy as np

from paimon_sql.format.bytes import varints
from paimon_sql.format.bytes.memory import Longs


def encode(numbers: Longs) -> bytes:
    """Encode numbers."""
    if not len(numbers):
        return b""
    differences = np.diff(numbers, prepend=np.int64(0))
    return varints.encode((differences << 1) ^ (differences >> 63)).tobytes()


def decode(data: bytes) -> Longs:
    """Decode numbers.

    Raises:
        ValueError: the bytes end inside a number.
    """
    return decoded_lists(data, np.array([len(data)], dtype=np.int64))[0]


def decoded_lists(data: bytes, sizes: Longs) -> tuple[Longs, Longs]:
    """Decode several concatenated lists of numbers.

    Args:
        data: the bytes of all lists.
        sizes: the number of bytes of each list.

    Returns:
        The numbers of all lists, and the length of each list.

    Raises:
        ValueError: a list ends inside a number.
    """
    octets = np.frombuffer(data, dtype=np.uint8)
    bounds = np.cumsum(sizes)
    is_last = octets < 0x80
    filled = bounds[sizes > 0]
    if not is_last[filled - 1].all():
        raise ValueError("a number is cut off")
    last = np.flatnonzero(is_last)
    counts = np.diff(np.searchsorted(last, bounds), prepend=0)
    if not len(last):
        return np.zeros(0, dtype=np.int64), counts
    starts = np.append(0, last[:-1] + 1)
    if (last - starts >= 10).any():
        raise ValueError("a number is too long")
    shifts = (np.arange(len(octets)) - np.repeat(starts, last - starts + 1)).astype(np.uint64) * np.uint64(7)
    raw = np.add.reduceat((octets & 0x7F).astype(np.uint64) << shifts, starts)
    differences = (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)
    sums = np.cumsum(differences)
    heads = (np.cumsum(counts) - counts)[counts > 0]
    base = np.repeat(sums[heads] - differences[heads], counts[counts > 0])
    return sums - base, counts

"""Unscaled values of decimals, big-endian with the min number of bytes, as several formats store them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.format.bytes.memory import Bytes, Longs, range_index

WIDTH = 16
"""Bytes of a decimal in Arrow, which are little-endian."""
_STEPS = np.arange(WIDTH)


def big_endian(decimals: pa.Array) -> tuple[Bytes, Longs]:
    """The bytes of decimals, one row each, and how many of the first ones only repeat the sign; undefined for null."""
    # An empty array may come without memory.
    little = np.frombuffer(decimals.buffers()[1] or b"", np.uint8, len(decimals) * WIDTH, decimals.offset * WIDTH)
    big = little.reshape(-1, WIDTH)[:, ::-1]
    sign = np.where(big[:, :1] >= 0x80, 0xFF, 0)
    spare = (big[:, :-1] == sign) & ((big[:, 1:] >= 0x80) == (sign == 0xFF))
    return big, spare.cumprod(axis=1).sum(axis=1)


def shortened(big: Bytes, spare: Longs) -> Bytes:
    """Concatenate the results of `big_endian` without the bytes that only repeat the sign."""
    return big[spare[:, None] <= _STEPS]


def from_big_endian(data: Bytes, starts: Longs, sizes: Longs) -> pa.Buffer:
    """Arrow's memory of decimals from ranges of up to 16 bytes; an empty range is 0."""
    big = np.zeros((len(sizes), WIDTH), np.uint8)
    filled = np.flatnonzero(sizes)
    big[filled[data[starts[filled]] >= 0x80]] = 0xFF
    big[(WIDTH - sizes)[:, None] <= _STEPS] = data[range_index(starts, sizes)]
    return pa.py_buffer(np.ascontiguousarray(big[:, ::-1]))

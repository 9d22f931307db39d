"""Hilbert order: rows sorted along a Hilbert curve through all columns; like the z-order, but without its jumps.

The position on the curve is computed as in J. Skilling, "Programming the Hilbert curve" (2004): by XORs of whole
coordinates, which NumPy does for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from paimon_sql.storage.write.clustering.base import WORD, ClusteringOrder, Codes, codes, to_bytes, words
from paimon_sql.storage.write.clustering.orders.z_order import interleaved

_BITS = 8 * WORD


class Hilbert(ClusteringOrder):
    """Orders by several columns with equal weight; of strings and bytes the first eight bytes count."""

    name = "hilbert"

    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        axes = transposed([codes(c) for c in columns], _BITS)
        return [pa.array(word) for word in words(interleaved([to_bytes(a) for a in axes]))]


def transposed(coordinates: Sequence[Codes], bits: int) -> list[Codes]:
    """The rows' positions on the curve in transposed form: their bits are dealt in turn to one number per coordinate.

    Args:
        coordinates: one array per dimension.
        bits: the number of low bits of a coordinate that are used.
    """
    axes = [a.copy() for a in coordinates]
    first, last = axes[0], axes[-1]
    steps = [np.uint64(1 << bit) for bit in range(bits - 1, 0, -1)]
    for step in steps:
        lower = step - np.uint64(1)
        for axis in axes:
            ahead = (axis & step) != 0
            swap = np.where(ahead, np.uint64(0), (first ^ axis) & lower)
            np.bitwise_xor(axis, swap, out=axis)
            np.bitwise_xor(first, np.where(ahead, lower, swap), out=first)
    for before, axis in pairwise(axes):
        np.bitwise_xor(axis, before, out=axis)
    turn = np.zeros_like(last)
    for step in steps:
        turn ^= np.where((last & step) != 0, step - np.uint64(1), np.uint64(0))
    return [axis ^ turn for axis in axes]

"""Z-order (Morton order): the bits of all columns, the highest of each first, interleaved into one number.

Rows that are close in all columns are close in the files.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.arrow_types import is_bytes
from paimon_sql.storage.write.clustering.base import Bytes, ClusteringOrder, codes, prefixes, to_bytes, words

_STEP = 65_536
"""The number of rows to process at a time: every bit takes a byte meanwhile."""


class ZOrder(ClusteringOrder):
    """Orders by several columns with equal weight; the options set how many bytes of strings and bytes count."""

    name = "zorder"

    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        parts = [prefixes(c, text_bytes) if is_bytes(c.type) else to_bytes(codes(c)) for c in columns]
        return [pa.array(word) for word in words(interleaved(parts))]


def interleaved(columns: Sequence[Bytes]) -> Bytes:
    """Interleave the bits of all columns: the first of each, then the second of each; shorter columns end earlier.

    Args:
        columns: the bytes of the rows by column, each with its own number of bytes per row.
    """
    joined = np.concatenate(columns, axis=1)
    widths = [8 * c.shape[1] for c in columns]
    firsts = np.cumsum([0, *widths[:-1]])
    positions = [(bit, first + bit) for first, width in zip(firsts, widths, strict=True) for bit in range(width)]
    order = np.array([position for _, position in sorted(positions)], dtype=np.intp)
    found = np.empty_like(joined)
    for first in range(0, len(joined), _STEP):
        bits = np.unpackbits(joined[first : first + _STEP], axis=1)
        found[first : first + _STEP] = np.packbits(bits[:, order], axis=1)
    return found

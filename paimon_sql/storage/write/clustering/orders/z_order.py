"""The z-order: the bits of all columns, the highest of each first, shuffled into one number.

Rows that are near each other in all columns come near each other in the files (Morton's curve).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.arrow_types import is_bytes
from paimon_sql.storage.write.clustering.base import RowLayout
from paimon_sql.storage.write.clustering.codes import Bytes, codes, prefixes, to_bytes, words

_STEP = 65_536
"""Rows that are worked on at a time: every bit of theirs takes a byte meanwhile."""


class ZOrder(RowLayout):
    """Orders by several columns alike; of texts and bytes as many bytes take part as the table's options say."""

    name = "zorder"

    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        parts = [prefixes(c, text_bytes) if is_bytes(c.type) else to_bytes(codes(c)) for c in columns]
        return [pa.array(word) for word in words(interleaved(parts))]


def interleaved(columns: Sequence[Bytes]) -> Bytes:
    """The bits of all columns in turn: the first of each, then the second of each; shorter columns fall out in time.

    Args:
        columns: for each column the rows' bytes, as many a row as it likes.
    """
    whole = np.concatenate(columns, axis=1)
    widths = [8 * c.shape[1] for c in columns]
    firsts = np.cumsum([0, *widths[:-1]])
    places = [(bit, first + bit) for first, width in zip(firsts, widths, strict=True) for bit in range(width)]
    turn = np.array([place for _, place in sorted(places)], dtype=np.intp)
    found = np.empty_like(whole)
    for first in range(0, len(whole), _STEP):
        bits = np.unpackbits(whole[first : first + _STEP], axis=1)
        found[first : first + _STEP] = np.packbits(bits[:, turn], axis=1)
    return found

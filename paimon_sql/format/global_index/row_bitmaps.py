"""Sets of rows as 64-bit Roaring bitmaps of the portable format: bitmaps of 32 bits by the upper halves."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from paimon_sql.format.file_index.bitmaps import serialized
from paimon_sql.format.file_index.many_bitmaps import serialized_each

Longs = npt.NDArray[np.int64]

_HEAD = struct.Struct("<q")
_PART = struct.Struct("<I")
_ONE_PART = _HEAD.pack(1) + _PART.pack(0)
MOST_ROWS = 1 << 32
"""How many rows an index file of ours covers at the most: those that one bitmap of 32 bits tells."""


def serialized_rows(rows: Longs) -> bytes:
    """The bytes of the bitmap of some rows, which are ascending and less than `MOST_ROWS`."""
    return _ONE_PART + serialized(rows) if len(rows) else _HEAD.pack(0)


def serialized_rows_each(rows: Longs, counts: Longs) -> list[bytes]:
    """The bytes of several bitmaps.

    Args:
        rows: the rows of all of them one behind the other, those of each ascending.
        counts: how many rows each has, at least one.
    """
    return [_ONE_PART + body for body in serialized_each(rows, counts)]


def read_rows(data: bytes) -> BitMap64:
    """The rows of a bitmap.

    Raises:
        ValueError: the bytes are no bitmap.
    """
    try:
        return BitMap64.deserialize(data)
    except (IndexError, OverflowError, MemoryError, RuntimeError) as error:
        raise ValueError(f"no bitmap: {error}") from error

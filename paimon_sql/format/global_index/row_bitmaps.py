"""Row sets as 64-bit Roaring bitmaps of the portable format: 32-bit bitmaps by the upper halves."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from paimon_sql.format.file_index.bitmaps import encode_bitmap
from paimon_sql.format.file_index.many_bitmaps import serialized_each

Longs = npt.NDArray[np.int64]

_HEAD = struct.Struct("<q")
_PART = struct.Struct("<I")
_ONE_PART = _HEAD.pack(1) + _PART.pack(0)
MAX_ROWS = 1 << 32
"""Max rows of an index file that we write: those of one 32-bit bitmap."""


def serialized_rows(rows: Longs) -> bytes:
    """Encode the bitmap of rows, which are ascending and less than `MAX_ROWS`."""
    return _ONE_PART + encode_bitmap(rows) if len(rows) else _HEAD.pack(0)


def serialized_rows_each(rows: Longs, counts: Longs) -> list[bytes]:
    """Encode several bitmaps.

    Args:
        rows: the rows of all bitmaps, concatenated; those of each are ascending.
        counts: the number of rows of each bitmap, at least one.
    """
    return [_ONE_PART + body for body in serialized_each(rows, counts)]


def read_rows(data: bytes) -> BitMap64:
    """Decode a bitmap.

    Raises:
        ValueError: the bytes are not a bitmap.
    """
    try:
        return BitMap64.deserialize(data)
    except (IndexError, OverflowError, MemoryError, RuntimeError) as error:
        raise ValueError(f"no bitmap: {error}") from error

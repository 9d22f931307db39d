"""Roaring bitmaps of row positions, and numbers stored as one bitmap per bit.

Bitmaps are encoded here and not by the Roaring library, which chooses runs for some sets where Java does not.
Source: the portable Roaring format.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

Positions = npt.NDArray[np.int64]

PLAIN, WITH_RUNS = 12346, 12347
"""First numbers of bitmaps without and with runs."""
MAX_SLICES = 64
"""Max bits of a number."""
_CONTAINER_ROWS = 65536
_BITMAP_BYTES = 8192
_MAX_IN_ARRAY = 4096
_FEW_CONTAINERS = 4


def all_rows(count: int) -> BitMap:
    """The bitmap of the positions from 0 to ``count - 1``."""
    return BitMap(range(count))


def encode_bitmap(positions: Positions) -> bytes:
    """Encode the bitmap of ascending positions."""
    if not len(positions):
        return struct.pack("<II", PLAIN, 0)
    keys = positions >> 16
    cuts = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
    count = len(cuts) - 1
    bodies, runs = [], np.zeros(count, np.bool_)
    for i in range(count):
        body, runs[i] = _container(positions[cuts[i] : cuts[i + 1]].astype("<u2"))
        bodies.append(body)
    listed = np.stack([keys[cuts[:-1]], np.diff(cuts) - 1], axis=1).astype("<u2").tobytes()
    if runs.any():
        head = struct.pack("<I", WITH_RUNS | count - 1 << 16) + np.packbits(runs, bitorder="little").tobytes()
    else:
        head = struct.pack("<II", PLAIN, count)
    if count >= _FEW_CONTAINERS or not runs.any():
        start = len(head) + len(listed) + 4 * count
        listed += (np.cumsum([start, *map(len, bodies[:-1])])).astype("<u4").tobytes()
    return b"".join([head, listed, *bodies])


def _container(lows: npt.NDArray[np.uint16]) -> tuple[bytes, bool]:
    """Encode up to 65536 positions, with whether they are stored as runs."""
    ends = np.flatnonzero(lows[1:] - lows[:-1] != 1)
    plain = min(_BITMAP_BYTES, 2 * len(lows))
    if 2 + 4 * (len(ends) + 1) < plain:
        firsts = lows[np.concatenate([[0], ends + 1])]
        lasts = lows[np.concatenate([ends, [len(lows) - 1]])]
        return struct.pack("<H", len(firsts)) + np.stack([firsts, lasts - firsts], axis=1).tobytes(), True
    if len(lows) <= _MAX_IN_ARRAY:
        return lows.tobytes(), False
    bits = np.zeros(_CONTAINER_ROWS, np.bool_)
    bits[lows] = True
    return np.packbits(bits, bitorder="little").tobytes(), False


def max_bitmap_bytes(rows: int) -> int:
    """Max bytes of a bitmap of so many rows."""
    return 64 + (rows // _CONTAINER_ROWS + 1) * (_BITMAP_BYTES + 16)


def read_bitmap(data: bytes) -> BitMap:
    """Decode the bitmap at the start of the bytes; bytes after it are ignored.

    Raises:
        ValueError: the bytes are not a bitmap.
    """
    try:
        return BitMap.deserialize(data)
    except (IndexError, OverflowError, MemoryError, RuntimeError) as error:
        raise ValueError(f"no bitmap: {error}") from error


def encode_slices(positions: Positions, numbers: npt.NDArray[np.uint64], width: int) -> list[bytes]:
    """Encode numbers as one bitmap per bit, the lowest bit first.

    Args:
        positions: the positions of the numbers, ascending.
        numbers: the numbers.
        width: the number of bits.
    """
    one = np.uint64(1)
    return [encode_bitmap(positions[(numbers >> np.uint64(i)) & one == one]) for i in range(width)]


@dataclass(frozen=True)
class BitSlices:
    """Non-negative integers: the rows that have one, and the rows in which each bit, from the lowest on, is set."""

    rows: BitMap
    slices: Sequence[BitMap]

    def split(self, number: int) -> tuple[BitMap, BitMap, BitMap]:
        """The rows whose numbers are less than, equal to and greater than ``number``."""
        if number < 0:
            return BitMap(), BitMap(), self.rows.copy()
        if number >> len(self.slices):
            return self.rows.copy(), BitMap(), BitMap()
        less, equal, greater = BitMap(), self.rows.copy(), BitMap()
        for i in reversed(range(len(self.slices))):
            if number >> i & 1:
                less |= equal - self.slices[i]
                equal &= self.slices[i]
            else:
                greater |= equal & self.slices[i]
                equal -= self.slices[i]
        return less, equal, greater

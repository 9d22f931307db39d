"""Roaring bitmaps of rows, in 32 and 64 bits: single, many at once, and numbers stored as one bitmap per bit.

Bitmaps are encoded here and not by the Roaring library, which chooses runs for some sets where Java does not.
Source: the portable Roaring format.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from paimon_sql.format.bytes.memory import Longs, Mask, Words, range_index

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


def encode_bitmap(positions: Longs) -> bytes:
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
        raise ValueError(f"not a bitmap: {error}") from error


def encode_slices(positions: Longs, numbers: Words, width: int) -> list[bytes]:
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
    """Integers: the rows that have one, and the rows in which each bit of its distance from the min bound is set."""

    rows: BitMap
    slices: Sequence[BitMap]
    """From the lowest bit on."""
    minimum: int = 0

    def split(self, number: int) -> tuple[BitMap, BitMap, BitMap]:
        """The rows whose numbers are less than, equal to and greater than ``number``."""
        number -= self.minimum
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


_SHORTS = ("key", "less", "runs", "first", "more")
_ONE_RUN = np.dtype([("cookie", "<u4"), ("flags", "u1")] + [(name, "<u2") for name in _SHORTS])
"""The bytes of a bitmap that is one run."""


def serialized_each(positions: Longs, counts: Longs) -> list[bytes]:
    """Encode several bitmaps.

    Most consist of arrays (scattered positions) or of one run; these are encoded together, the others one by one.

    Args:
        positions: the positions of all bitmaps, concatenated; those of each are ascending.
        counts: the number of positions of each bitmap, at least one.
    """
    if not len(counts):
        return []
    groups = _Groups.of(positions, counts)
    encoded: list[bytes | None] = [None] * len(counts)
    for chosen, bodies in ((groups.arrays, _arrays), (groups.one_run, _single_runs)):
        some = np.flatnonzero(chosen)
        if len(some):
            for i, body in zip(some.tolist(), bodies(groups, some), strict=True):
                encoded[i] = body
    ends = np.cumsum(counts)
    return [
        encode_bitmap(positions[ends[i] - counts[i] : ends[i]]) if body is None else body
        for i, body in enumerate(encoded)
    ]


@dataclass(frozen=True)
class _Groups:
    """Bitmaps and their containers.

    Attributes:
        positions: all positions.
        counts: the number of positions of each bitmap.
        starts: the index of the first position of each container.
        owners: the bitmap of each container.
        arrays: whether all containers of a bitmap are arrays.
        one_run: whether a bitmap is one run in one container.
    """

    positions: Longs
    counts: Longs
    starts: Longs
    owners: Longs
    arrays: Mask
    one_run: Mask

    @classmethod
    def of(cls, positions: Longs, counts: Longs) -> _Groups:
        bitmap = np.repeat(np.arange(len(counts)), counts)
        first = np.ones(len(positions), np.bool_)
        first[1:] = (bitmap[1:] != bitmap[:-1]) | (positions[1:] >> 16 != positions[:-1] >> 16)
        starts = np.flatnonzero(first)
        breaks = first.copy()
        breaks[1:] |= positions[1:] - positions[:-1] != 1
        owners, sizes = bitmap[starts], np.diff(starts, append=len(positions))
        runs = np.add.reduceat(breaks, starts, dtype=np.int64)
        is_array = (sizes <= _MAX_IN_ARRAY) & (2 + 4 * runs >= 2 * sizes)
        containers = np.bincount(owners, minlength=len(counts))
        arrays = np.bincount(owners, weights=is_array, minlength=len(counts)) == containers
        all_runs = np.bincount(owners, weights=runs, minlength=len(counts))
        return cls(positions, counts, starts, owners, arrays, ~arrays & (containers == 1) & (all_runs == 1))


def _arrays(groups: _Groups, some: Longs) -> list[bytes]:
    """Encode bitmaps whose containers are arrays, as one buffer of 16-bit numbers."""
    inside = np.isin(groups.owners, some)
    sizes = np.diff(groups.starts, append=len(groups.positions))[inside]
    starts, owners = groups.starts[inside], np.searchsorted(some, groups.owners[inside])
    counts, containers = groups.counts[some], np.bincount(owners, minlength=len(some))
    bases = np.concatenate([[0], np.cumsum(4 + 4 * containers + counts)])
    data = np.zeros(bases[-1], "<u2")
    data[bases[:-1]] = PLAIN
    data[bases[:-1] + 2], data[bases[:-1] + 3] = containers & 0xFFFF, containers >> 16
    index = range_index(np.zeros_like(containers), containers)
    keys = bases[owners] + 4 + 2 * index
    data[keys], data[keys + 1] = groups.positions[starts] >> 16, sizes - 1
    before = np.cumsum(sizes) - sizes - np.repeat(np.cumsum(counts) - counts, containers)
    offsets = 8 + 8 * containers[owners] + 2 * before
    data[keys + 2 * containers[owners]], data[keys + 2 * containers[owners] + 1] = offsets & 0xFFFF, offsets >> 16
    to = range_index(bases[:-1] + 4 + 4 * containers, counts)
    data[to] = groups.positions[range_index(starts, sizes)] & 0xFFFF
    encoded, ends = data.tobytes(), (2 * bases).tolist()
    return [encoded[a:b] for a, b in pairwise(ends)]


def _single_runs(groups: _Groups, some: Longs) -> list[bytes]:
    """Encode bitmaps that are one run."""
    starts = groups.starts[np.isin(groups.owners, some)]
    records = np.zeros(len(some), _ONE_RUN)
    records["cookie"], records["flags"], records["runs"] = WITH_RUNS, 1, 1
    records["key"], records["first"] = groups.positions[starts] >> 16, groups.positions[starts] & 0xFFFF
    records["less"] = records["more"] = groups.counts[some] - 1
    encoded, size = records.tobytes(), _ONE_RUN.itemsize
    return [encoded[at : at + size] for at in range(0, len(encoded), size)]


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
        raise ValueError(f"not a bitmap: {error}") from error

"""File index ``bsi``: for each bit of a column's numbers, the bitmap of rows where it is set; it supports ranges.

An index is a version (1 byte), the number of rows (4) and two sides: the numbers from 0 on, and the negative ones by
their absolute values. A side is whether it has numbers (1 byte) and, if so, a version (1), their min and max bound (8
each), the bitmap of their rows, the number of slices (4) and the slices from the lowest bit on. Writers set the min
bound to 0.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from paimon_sql.format.bytes.bounded import MAX_FILE_ROWS, check_count
from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.bytes.row_bitmaps import (
    MAX_SLICES,
    BitSlices,
    encode_bitmap,
    encode_slices,
    max_bitmap_bytes,
    read_bitmap,
)
from paimon_sql.format.file_index.base import ColumnBuilder, FileIndexKind, RowsReader
from paimon_sql.format.file_index.keys import Key, RankedColumn
from paimon_sql.format.schema import types as t

_HEAD = struct.Struct(">bi")
_BOUNDS = struct.Struct(">bqq")
_INT = struct.Struct(">i")
_VERSION = 1
_MIN_LONG = -(2**63)


class _Builder(ColumnBuilder):
    def build(self, column: RankedColumn) -> bytes | None:
        distinct = column.distinct
        assert isinstance(distinct, np.ndarray)
        if len(distinct) and distinct[0] == _MIN_LONG:
            return None  # its absolute value exceeds 64 bits
        numbers = distinct[column.ranks]
        parts = [_HEAD.pack(_VERSION, column.rows)]
        for chosen in (numbers >= 0, numbers < 0):
            parts.append(bytes([bool(chosen.any())]))
            if chosen.any():
                parts.append(_slices(column.positions[chosen], np.abs(numbers[chosen])))
        return b"".join(parts)


def _slices(positions: Longs, numbers: Longs) -> bytes:
    maximum = int(numbers.max())
    unsigned: npt.NDArray[np.uint64] = numbers.astype(np.uint64)
    slices = encode_slices(positions, unsigned, maximum.bit_length())
    head = _BOUNDS.pack(_VERSION, 0, maximum) + encode_bitmap(positions) + _INT.pack(len(slices))
    return head + b"".join(slices)


class _Reader(RowsReader):
    def __init__(self, data: bytes, data_type: t.DataType) -> None:
        super().__init__(data_type)
        try:
            version, self._rows = _HEAD.unpack_from(data)
            if version != _VERSION:
                raise ValueError(f"a bit-sliced index of version {version}")
            check_count(self._rows, MAX_FILE_ROWS, "rows")
            self._positive, at = _read(data, _HEAD.size, self._rows)
            self._negative, _ = _read(data, at, self._rows)
        except (struct.error, IndexError) as error:
            raise ValueError(f"a bit-sliced index that is cut off: {error}") from error

    def equal(self, key: Key) -> BitMap:
        return self.split(key)[1]

    def split(self, key: Key) -> tuple[BitMap, BitMap, BitMap]:
        assert isinstance(key, int)
        if key >= 0:
            less, equal, greater = self._positive.split(key)
            return self._negative.rows | less, equal, greater
        closer, equal, farther = self._negative.split(-key)
        return farther, equal, self._positive.rows | closer

    def not_nulls(self) -> BitMap:
        return self._positive.rows | self._negative.rows


def _read(data: bytes, at: int, rows: int) -> tuple[BitSlices, int]:
    if not data[at]:
        return BitSlices(BitMap(), []), at + 1
    version, minimum, _ = _BOUNDS.unpack_from(data, at + 1)
    if version != _VERSION:
        raise ValueError(f"bit slices of version {version}")
    valued, at = _bitmap(data, at + 1 + _BOUNDS.size, rows)
    (count,) = _INT.unpack_from(data, at)
    check_count(count, MAX_SLICES, "bit slices")
    at += _INT.size
    slices = []
    for _ in range(count):
        found, at = _bitmap(data, at, rows)
        slices.append(found)
    return BitSlices(valued, slices, minimum), at


def _bitmap(data: bytes, at: int, rows: int) -> tuple[BitMap, int]:
    found = read_bitmap(data[at : at + max_bitmap_bytes(rows)])
    return found, at + len(found.serialize())


class BitSliced(FileIndexKind):
    """The kind ``bsi`` (Paimon: `BitSliceIndexBitmapFileIndex`)."""

    name = "bsi"
    types = (*t.INTEGERS, t.DecimalType, t.DateType, t.TimeType, *t.TIMESTAMPS)
    builder = staticmethod(_Builder)
    reader = staticmethod(_Reader)

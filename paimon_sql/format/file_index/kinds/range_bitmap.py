"""File index ``range-bitmap``: a sorted dictionary of a column's values, and bit slices of the rows' dictionary codes.

An index is the length of its head (4 bytes) and the head: a version (1), the number of rows and of values (4 each), the
min and the max value if there is any, the length of the dictionary (4); then dictionary and bit slices.

The dictionary is the length of its head (4) and the head: a version (1), the number of chunks, the length of their
offsets and of their heads (4 each); then the offsets (4 each), the heads and the keys. A chunk's head holds a version
(1), its first key, the code of this key, the offset, number and length of its other keys (4 each) and, for keys of
fixed size, this size (4). Keys of variable size are preceded by their offsets, whose length is stored before the
length of the keys.

The bit slices are the length of their head (4) and the head: a version (1), the number of slices (1), the length of the
bitmap of rows and of the locations of the slices (4 each), each location an offset and a length (4 each); then the
bitmaps.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from paimon_sql.format.bytes.bounded import MAX_FILE_ROWS, check_count, check_range
from paimon_sql.format.bytes.memory import Longs, offsets_of
from paimon_sql.format.bytes.row_bitmaps import MAX_SLICES, BitSlices, encode_bitmap, encode_slices, read_bitmap
from paimon_sql.format.file_index.base import ColumnBuilder, FileIndexKind, RowsReader
from paimon_sql.format.file_index.keys import Key, KeyType, RankedColumn, with_length
from paimon_sql.format.options.values import TableOptions, option
from paimon_sql.format.schema import types as t

CHUNK_SIZE = option.memory_size(
    "chunk-size",
    "The number of bytes of values that a lookup reads; by default 16 kb, or each value alone if it is small.",
)

_VERSION = 1
_INT = struct.Struct(">i")
_HEAD = struct.Struct(">bii")
_DICTIONARY = struct.Struct(">ibiii")
_SLICES = struct.Struct(">ibbii")
_CHUNK_HEAD = struct.Struct(">5i")
_CHUNK = 16 * 1024
_ALONE = (t.BooleanType, t.TinyIntType, t.SmallIntType)
_MAX_DIGITS, _MAX_PRECISION = 18, 6
_EMPTY_SLICES = 64


class _Builder(ColumnBuilder):
    def __init__(self, data_type: t.DataType, settings: TableOptions) -> None:
        super().__init__(data_type, settings)
        chosen = settings.get(CHUNK_SIZE)
        self._chunk = chosen if chosen is not None else 0 if isinstance(data_type, _ALONE) else _CHUNK

    def build(self, column: RankedColumn) -> bytes:
        words = _EncodedKeys.of(self.keys, column.distinct)
        head = _HEAD.pack(_VERSION, column.rows, len(words))
        if len(words):
            head += words.some(0, 1) + words.some(len(words) - 1, len(words))
        dictionary = _dictionary(words, self._chunk)
        head += _INT.pack(len(dictionary))
        width = max(1, (len(words) - 1).bit_length()) if len(words) else _EMPTY_SLICES
        slices = encode_slices(column.positions, column.ranks.astype(np.uint64), width)
        return _INT.pack(len(head)) + head + dictionary + _encode_slices(encode_bitmap(column.positions), slices)


@dataclass(frozen=True)
class _EncodedKeys:
    """Encoded keys, concatenated, with their offsets and the final end; ``size`` is None if it varies."""

    data: bytes
    offsets: Longs
    size: int | None

    @classmethod
    def of(cls, keys: KeyType, distinct: Longs | pa.Array) -> _EncodedKeys:
        if isinstance(distinct, np.ndarray):
            size = keys.stored.itemsize
            return cls(keys.encode(distinct).tobytes(), np.arange(len(distinct) + 1) * size, size)
        words = with_length(distinct)
        return cls(b"".join(words.to_pylist()), offsets_of(pc.binary_length(words).to_numpy()), None)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def some(self, first: int, after: int) -> bytes:
        """The keys of a range."""
        return self.data[self.offsets[first] : self.offsets[after]]

    def after(self, first: int, max_bytes: int) -> int:
        """The first key from ``first`` on that, with its offset if it needs one, exceeds ``max_bytes``."""
        last = int(np.searchsorted(self.offsets[1:], self.offsets[first] + max_bytes, side="right"))
        return last if self.size is not None else min(last, first + max_bytes // _INT.size)


def _dictionary(words: _EncodedKeys, chunk_bytes: int) -> bytes:
    offsets, heads, bodies = [], [], []
    heads_size = bodies_size = first = 0
    while first < len(words):
        after = words.after(first + 1, chunk_bytes)
        keys, before = words.some(first + 1, after), b""
        lengths = (len(keys), words.size)
        if words.size is None:
            before = (words.offsets[first + 1 : after] - words.offsets[first + 1]).astype(">i4").tobytes()
            lengths = (len(before), len(keys))
        numbers = _CHUNK_HEAD.pack(first, bodies_size, after - first - 1, *lengths)
        head = bytes([_VERSION]) + words.some(first, first + 1) + numbers
        offsets.append(_INT.pack(heads_size))
        heads.append(head)
        bodies.append(before + keys)
        heads_size += len(head)
        bodies_size += len(bodies[-1])
        first = after
    head = _DICTIONARY.pack(_DICTIONARY.size - _INT.size, _VERSION, len(heads), len(heads) * _INT.size, heads_size)
    return b"".join([head, *offsets, *heads, *bodies])


def _encode_slices(rows: bytes, bodies: Sequence[bytes]) -> bytes:
    locations = bytearray()
    offset = 0
    for body in bodies:
        locations += struct.pack(">ii", offset, len(body))
        offset += len(body)
    size = _SLICES.size - _INT.size + len(locations)
    return b"".join([_SLICES.pack(size, _VERSION, len(bodies), len(rows), len(locations)), locations, rows, *bodies])


class _Reader(RowsReader):
    def __init__(self, data: bytes, data_type: t.DataType) -> None:
        super().__init__(data_type)
        self._data = data
        try:
            (size,) = _INT.unpack_from(data)
            version, self._rows, count = _HEAD.unpack_from(data, _INT.size)
            if version != _VERSION:
                raise ValueError(f"a range bitmap of version {version}")
            check_count(self._rows, MAX_FILE_ROWS, "rows")
            check_count(count, self._rows, "values")
            check_range(_INT.size, size, len(data), "the header of a range bitmap")
            body = _INT.size + size
            (dictionary,) = _INT.unpack_from(data, body - _INT.size)
            check_range(body, dictionary, len(data), "the dictionary of a range bitmap")
            self._words = _Dictionary(data, body, self.keys, count)
            self._slices = _read_slices(data, body + dictionary)
        except (struct.error, IndexError) as error:
            raise ValueError(f"a range bitmap that is cut off: {error}") from error

    def equal(self, key: Key) -> BitMap:
        return self.split(key)[1]

    def split(self, key: Key) -> tuple[BitMap, BitMap, BitMap]:
        rank, found = self._words.find(key)
        less, equal, greater = self._slices.split(rank)
        return (less, equal, greater) if found else (less, BitMap(), greater | equal)

    def not_nulls(self) -> BitMap:
        return self._slices.rows


class _Dictionary:
    """The sorted values; a look-up reads the heads of some chunks and the keys of one."""

    def __init__(self, data: bytes, at: int, keys: KeyType, count: int) -> None:
        size, version, self._chunks, offsets, heads = _DICTIONARY.unpack_from(data, at)
        if version != _VERSION:
            raise ValueError(f"a dictionary of version {version}")
        check_count(self._chunks, count, "chunks")
        self._data, self._keys = data, keys
        self._offsets = at + _INT.size + size
        self._heads = self._offsets + offsets
        self._bodies = self._heads + heads
        for start, length in ((at + _INT.size, size), (self._offsets, offsets), (self._heads, heads)):
            check_range(start, length, len(data), "the dictionary of a range bitmap")

    def find(self, key: Any) -> tuple[int, bool]:
        """The code of the first value that is not less than ``key``, and whether it equals ``key``."""
        after = bisect_right(range(self._chunks), key, key=lambda chunk: self._head(chunk)[0])
        if not after:
            return 0, False
        first, (number, offset, size, *lengths) = self._head(after - 1)
        if first == key:
            return number, True
        at = self._bodies + offset
        low = bisect_left(range(size), key, key=lambda index: self._other(at, index, lengths))
        return number + 1 + low, low < size and self._other(at, low, lengths) == key

    def _head(self, chunk: int) -> tuple[Key, tuple[int, ...]]:
        (offset,) = self._numbers(_INT, self._offsets + chunk * _INT.size)
        key, at = self._key(self._heads + offset + 1)
        return key, self._numbers(_CHUNK_HEAD, at)

    def _other(self, at: int, index: int, lengths: list[int]) -> Key:
        if not self._keys.is_bytes:
            return self._key(at + index * lengths[1])[0]
        (offset,) = self._numbers(_INT, at + index * _INT.size)
        return self._key(at + lengths[0] + offset)[0]

    def _key(self, at: int) -> tuple[Key, int]:
        if self._keys.is_bytes:
            (size,) = self._numbers(_INT, at)
            check_range(at + _INT.size, size, len(self._data), "a key of a range bitmap")
            end = at + _INT.size + size
            return self._data[at + _INT.size : end], end
        check_range(at, self._keys.stored.itemsize, len(self._data), "a key of a range bitmap")
        stored = np.frombuffer(self._data, self._keys.stored, 1, at)
        return int(self._keys.decode(stored)[0]), at + stored.nbytes

    def _numbers(self, layout: struct.Struct, at: int) -> tuple[int, ...]:
        check_range(at, layout.size, len(self._data), "the dictionary of a range bitmap")
        return layout.unpack_from(self._data, at)


def _read_slices(data: bytes, at: int) -> BitSlices:
    size, version, count, rows, _ = _SLICES.unpack_from(data, at)
    if version != _VERSION:
        raise ValueError(f"bit slices of version {version}")
    check_count(count, MAX_SLICES, "bit slices")
    body = at + _INT.size + size
    locations = np.frombuffer(data, ">i4", 2 * count, at + _SLICES.size).reshape(-1, 2).tolist()
    start = body + rows
    for begin, length in ((body, rows), *((start + offset, length) for offset, length in locations)):
        check_range(begin, length, len(data), "a bitmap of a range bitmap")
    slices = [read_bitmap(data[start + offset : start + offset + length]) for offset, length in locations]
    return BitSlices(read_bitmap(data[body:start]), slices)


class RangeBitmap(FileIndexKind):
    """The kind ``range-bitmap`` (Paimon: `RangeBitmapFileIndex`)."""

    name = "range-bitmap"
    settings = (CHUNK_SIZE,)
    types = (*t.TEXTS, t.BooleanType, *t.INTEGERS, *t.FLOATS, t.DecimalType, t.DateType, t.TimeType, *t.TIMESTAMPS)
    builder = staticmethod(_Builder)
    reader = staticmethod(_Reader)

    def supports(self, data_type: t.DataType) -> bool:
        if isinstance(data_type, t.DecimalType):
            return data_type.precision <= _MAX_DIGITS
        if isinstance(data_type, t.TIMESTAMPS):
            return data_type.precision <= _MAX_PRECISION
        return super().supports(data_type)

"""File index ``bitmap``: for each value of a column, the bitmap of its rows.

An index is a version (1 byte), a head, and the bitmaps. The head holds the number of rows, the number of values (4
bytes each), whether there are nulls (1 byte) and the offset of their bitmap (4 bytes). In version 1 all values follow,
each with its offset. Version 2 adds the length of the nulls' bitmap, then lists the first value of each block of
values, so that a look-up reads one block; in blocks each value has its offset and length.
Offsets count from the first bitmap; -1 - row is the single row of a value, which has no bitmap.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from paimon_sql.format.bytes.bounded import MAX_FILE_ROWS, check_count, check_range
from paimon_sql.format.bytes.memory import Bytes, Longs
from paimon_sql.format.bytes.row_bitmaps import all_rows, encode_bitmap, max_bitmap_bytes, read_bitmap, serialized_each
from paimon_sql.format.file_index.base import ColumnBuilder, FileIndexKind, RowsReader
from paimon_sql.format.file_index.keys import Key, KeyType, RankedColumn, fixed, with_length
from paimon_sql.format.options.values import TableOptions, option
from paimon_sql.format.schema import types as t

VERSION = option.integer.checked(lambda value: None if value in (1, 2) else "it must be 1 or 2")(
    "version", "The layout of the index.", "2"
)
INDEX_BLOCK_SIZE = option.memory_size(
    "index-block-size", "The number of bytes of values that a lookup reads, in version 2.", "16 kb"
)

_HEAD = struct.Struct(">iib")
_INT = struct.Struct(">i")


class _Builder(ColumnBuilder):
    def __init__(self, data_type: t.DataType, settings: TableOptions) -> None:
        super().__init__(data_type, settings)
        self._version = settings.get(VERSION)
        self._block = settings.get(INDEX_BLOCK_SIZE)

    def build(self, column: RankedColumn) -> bytes | None:
        nulls = column.nulls
        null_bitmap = encode_bitmap(nulls)
        bodies = [null_bitmap] if len(nulls) > 1 else []
        offsets, lengths, others = _encode_bitmaps(column, sum(map(len, bodies)))
        head = _HEAD.pack(column.rows, len(column.distinct), bool(len(nulls)))
        if len(nulls):
            head += _INT.pack(0 if len(nulls) > 1 else -1 - int(nulls[0]))
        if self._version == 1:
            head += _entries(self.keys, column.distinct, [offsets])[0].tobytes()
        else:
            head += _INT.pack(len(null_bitmap)) if len(nulls) else b""
            blocks = self._blocks(column, offsets, lengths)
            if blocks is None:
                return None
            head += blocks
        return b"".join([bytes([self._version]), head, *bodies, *others])

    def _blocks(self, column: RankedColumn, offsets: Longs, lengths: Longs) -> bytes | None:
        """Encode the list of blocks and the blocks; None if a value exceeds the size of a block."""
        data, ends = _entries(self.keys, column.distinct, [offsets, lengths])
        max_bytes = self._block - _INT.size
        starts = np.concatenate([[0], ends])
        cuts = [0]
        while cuts[-1] < len(ends):
            after = int(np.searchsorted(ends, starts[cuts[-1]] + max_bytes, side="right"))
            if after == cuts[-1]:
                return None
            cuts.append(after)
        listed, blocks = [], []
        offset = 0
        for first, last in pairwise(cuts):
            body = data[starts[first] : starts[last]]
            listed.append(body[: _key_size(body, self.keys)].tobytes() + _INT.pack(offset))
            blocks.append(_INT.pack(last - first) + body.tobytes())
            offset += len(blocks[-1])
        return b"".join([_INT.pack(len(blocks)), *listed, _INT.pack(offset), *blocks])


def _encode_bitmaps(column: RankedColumn, offset: int) -> tuple[Longs, Longs, list[bytes]]:
    """The offset and the length of each value's bitmap, and the bitmaps, which begin at ``offset``."""
    counts = np.bincount(column.ranks, minlength=len(column.distinct))
    rows = column.positions[np.argsort(column.ranks, kind="stable")]
    ends = np.cumsum(counts)
    offsets, lengths = np.empty(len(counts), np.int64), np.full(len(counts), -1, np.int64)
    alone = counts == 1
    offsets[alone] = -1 - rows[ends[alone] - 1]
    bodies = serialized_each(rows[np.repeat(~alone, counts)], counts[~alone])
    lengths[~alone] = [len(body) for body in bodies]
    offsets[~alone] = offset + np.cumsum(lengths[~alone]) - lengths[~alone]
    return offsets, lengths, bodies


def _entries(keys: KeyType, distinct: Longs | pa.Array, numbers: list[Longs]) -> tuple[Bytes, Longs]:
    """Encode entries, a key followed by its numbers; with the end of each entry."""
    suffixes = np.stack(numbers, axis=1).astype(">i4")
    if not isinstance(distinct, np.ndarray):
        if not len(distinct):
            return np.empty(0, np.uint8), np.empty(0, np.int64)
        entries = pc.binary_join_element_wise(with_length(distinct), fixed(suffixes), b"")
        ends = np.cumsum(pc.binary_length(entries).to_numpy(), dtype=np.int64)
        return np.frombuffer(b"".join(entries.to_pylist()), np.uint8), ends
    rows = np.empty(len(distinct), [("key", keys.stored), ("numbers", ">i4", (suffixes.shape[1],))])
    rows["key"], rows["numbers"] = keys.encode(distinct), suffixes
    return rows.view(np.uint8).reshape(-1), np.arange(1, len(rows) + 1, dtype=np.int64) * rows.itemsize


def _key_size(entry: Bytes, keys: KeyType) -> int:
    return _INT.size + int.from_bytes(entry[: _INT.size].tobytes(), "big") if keys.is_bytes else keys.stored.itemsize


class _Reader(RowsReader):
    def __init__(self, data: bytes, data_type: t.DataType) -> None:
        super().__init__(data_type)
        self._data = data
        self._version = data[0] if data else 0
        if self._version not in (1, 2):
            raise ValueError(f"a bitmap index of version {self._version}")
        try:
            self._read_head()
        except struct.error as error:
            raise ValueError(f"a bitmap index that is cut off: {error}") from error

    def _read_head(self) -> None:
        rows, values, has_nulls = _HEAD.unpack_from(self._data, 1)
        check_count(rows, MAX_FILE_ROWS, "rows")
        at = 1 + _HEAD.size
        self._rows = rows
        self._null: int | None = None
        if has_nulls:
            (self._null,) = _INT.unpack_from(self._data, at)
            at += _INT.size * self._version
        if self._version == 1:
            found, self._body = self._entries(at, values, 1)
            self._offsets = {key: offset for key, (offset,) in found}
            return
        (blocks,) = _INT.unpack_from(self._data, at)
        listed, at = self._entries(at + _INT.size, blocks, 1)
        self._firsts = [key for key, _ in listed]
        self._blocks = [at + _INT.size + numbers[0] for _, numbers in listed]
        self._body = at + _INT.size + _INT.unpack_from(self._data, at)[0]

    def _entries(self, at: int, count: int, numbers: int) -> tuple[list[tuple[Key, tuple[int, ...]]], int]:
        """Decode entries, a key followed by its numbers; with the end of the last entry."""
        check_count(count, (len(self._data) - at) // _INT.size, "values")
        if not self.keys.is_bytes:
            kind = np.dtype([("key", self.keys.stored), ("numbers", ">i4", (numbers,))])
            stored = np.frombuffer(self._data, kind, count, at) if count else np.empty(0, kind)
            keys = self.keys.decode(stored["key"]).tolist()
            return list(zip(keys, map(tuple, stored["numbers"].tolist()), strict=True)), at + stored.nbytes
        suffix = struct.Struct(f">{numbers}i")
        found: list[tuple[Key, tuple[int, ...]]] = []
        for _ in range(count):
            start = at + _INT.size
            (size,) = _INT.unpack_from(self._data, at)
            check_range(start, size, len(self._data), "a value of a bitmap index")
            stop = start + size
            found.append((self._data[start:stop], suffix.unpack_from(self._data, stop)))
            at = stop + suffix.size
        return found, at

    def equal(self, key: Key) -> BitMap:
        return self._bitmap(self._find(key))

    def _find(self, key: Key) -> int | None:
        """The offset of a value's bitmap; its length, which version 1 does not store, is not needed."""
        if self._version == 1:
            return self._offsets.get(key)
        block = bisect_right(self._firsts, key) - 1
        if block < 0:
            return None
        at = self._blocks[block]
        (count,) = _INT.unpack_from(self._data, at)
        found, _ = self._entries(at + _INT.size, count, 2)
        return next((offset for known, (offset, _) in found if known == key), None)

    def _bitmap(self, offset: int | None) -> BitMap:
        if offset is None:
            return BitMap()
        if offset < 0:
            return BitMap([-1 - offset])
        start = self._body + offset
        check_range(start, 0, len(self._data), "a bitmap of an index")
        return read_bitmap(self._data[start : start + max_bitmap_bytes(self._rows)])

    def nulls(self) -> BitMap:
        return self._bitmap(self._null)

    def not_nulls(self) -> BitMap:
        return all_rows(self._rows) - self.nulls()


class Bitmap(FileIndexKind):
    """The kind ``bitmap`` (Paimon: `BitmapFileIndex`)."""

    name = "bitmap"
    settings = (VERSION, INDEX_BLOCK_SIZE)
    types = (*t.TEXTS, t.BooleanType, *t.INTEGERS, *t.FLOATS, t.DateType, t.TimeType, *t.TIMESTAMPS)
    builder = staticmethod(_Builder)
    reader = staticmethod(_Reader)

    def check(self, settings: TableOptions) -> str | None:
        if settings.get(INDEX_BLOCK_SIZE) < 3 * _INT.size + 8:
            return "is too small to hold a value"
        return None

"""Global index ``btree``: sorted keys, each with its rows.

A file consists of blocks of keys, a bitmap of the rows without a value, a block of the blocks' last keys, and a footer.
Source: Paimon's B-tree index files.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.format.bytes.bounded import Read
from paimon_sql.format.bytes.memory import Longs, binary_buffers
from paimon_sql.format.bytes.row_bitmaps import read_rows, serialized_rows
from paimon_sql.format.bytes.varints import decode, encode, sizes_of
from paimon_sql.format.global_index.base import (
    GlobalIndexKind,
    KeyedRows,
    SortedIndexReader,
    SortedRows,
    between_mask,
    bitmap_of,
    footer_of,
    position,
)
from paimon_sql.format.global_index.blocks import (
    TRAILER_BYTES,
    Compression,
    Entries,
    Handle,
    concat,
    encode_block,
    encode_blocks,
    read_entries,
    read_handles,
    runs_of,
)
from paimon_sql.format.global_index.keys import IndexKeys, large_binaries
from paimon_sql.format.options.table import index as settings
from paimon_sql.format.options.values import TableOptions

_MAGIC, _VERSION = 0x50425449, 1
_FOOTER = struct.Struct("<qiqqiqiii")
_CHECKSUM = struct.Struct("<I")


class _Reader(SortedIndexReader):
    def __init__(self, read: Read, size: int, keys: IndexKeys) -> None:
        self._read, self._keys = read, keys
        footer = footer_of(read, size, _FOOTER, _MAGIC, _VERSION, "B-tree")
        _, _, _, at, length, null_at, null_length = footer
        self._index, self._nulls = Handle(at, length), Handle(null_at, null_length)

    def among(self, keys: pa.Array) -> BitMap64:
        wanted = keys.take(pc.sort_indices(keys))
        chosen = sorted({position(self._lasts, key, behind=False) for key in wanted})
        blocks = [self._handles[i] for i in chosen if i < len(self._handles)]
        return self._rows(blocks, lambda found: pc.is_in(found, value_set=wanted))

    def between(
        self, low: pa.Scalar | None, high: pa.Scalar | None, *, with_low: bool = True, with_high: bool = True
    ) -> BitMap64:
        first = 0 if low is None else position(self._lasts, low, behind=not with_low)
        last = len(self._handles) if high is None else position(self._lasts, high, behind=False) + 1
        return self._rows(
            self._handles[first:last],
            lambda found: between_mask(found, low, high, with_low=with_low, with_high=with_high),
        )

    def nulls(self) -> BitMap64:
        handle = self._nulls
        if not handle.size:
            return BitMap64()
        data = self._read(handle.offset, handle.size + _CHECKSUM.size)
        body = data[: handle.size]
        if data[handle.size :] != _CHECKSUM.pack(zlib.crc32(body)):
            raise ValueError("the rows without a value do not match their checksum")
        return read_rows(body)

    def in_order(self, *, descending: bool) -> Iterator[KeyedRows]:
        for handle in reversed(self._handles) if descending else self._handles:
            entries = read_entries(self._read(handle.offset, handle.size + TRAILER_BYTES))
            keys, values = self._keys.decoded(entries.keys), entries.values
            if descending:
                backwards = pa.array(np.arange(len(keys))[::-1])
                keys, values = keys.take(backwards), values.take(backwards)
            rows, counts = _listed(values)
            yield KeyedRows(keys, rows, counts)

    @cached_property
    def _top(self) -> Entries:
        return read_entries(self._read(self._index.offset, self._index.size + TRAILER_BYTES))

    @cached_property
    def _lasts(self) -> pa.Array:
        """The last key of each block."""
        return self._keys.decoded(self._top.keys)

    @cached_property
    def _handles(self) -> list[Handle]:
        return read_handles(self._top.values)

    def _rows(self, blocks: list[Handle], is_wanted: Callable[[pa.Array], pa.Array]) -> BitMap64:
        """The rows of the wanted keys in blocks."""
        found = BitMap64()
        for run in runs_of(blocks):
            begin = run[0].offset
            data = self._read(begin, run[-1].offset + run[-1].size + TRAILER_BYTES - begin)
            for handle in run:
                start = handle.offset - begin
                entries = read_entries(data[start : start + handle.size + TRAILER_BYTES])
                wanted = is_wanted(self._keys.decoded(entries.keys))
                found |= bitmap_of(_listed(entries.values.filter(wanted))[0])
        return found


class BTree(GlobalIndexKind):
    """Sorted keys: for searches by equality, range and prefix."""

    name = "btree"
    max_search_bytes = settings.BTREE_INDEX_FALLBACK_SCAN_MAX_SIZE
    reader = staticmethod(_Reader)

    def write(self, rows: SortedRows, keys: IndexKeys, options: TableOptions) -> Iterator[bytes]:
        compression = Compression(
            options.get(settings.BTREE_INDEX_COMPRESSION), options.get(settings.BTREE_INDEX_COMPRESSION_LEVEL)
        )
        lasts: list[Entries] = []
        at = 0
        for block in encode_blocks(
            _entries(rows, keys), options.get(settings.BTREE_INDEX_BLOCK_SIZE), compression, lasts
        ):
            at += len(block)
            yield block
        null_location = (0, 0)
        if len(rows.nulls):
            bitmap = serialized_rows(rows.nulls)
            null_location = (at, len(bitmap))
            yield bitmap + _CHECKSUM.pack(zlib.crc32(bitmap))
            at += len(bitmap) + _CHECKSUM.size
        index, size = encode_block(concat(lasts).block(), compression)
        yield index
        yield _FOOTER.pack(0, 0, 0, at, size, *null_location, _VERSION, _MAGIC)


def _entries(rows: SortedRows, keys: IndexKeys) -> Iterator[Entries]:
    """Yield the distinct keys, each with the number of its rows and the rows, in batches."""
    starts = rows.starts()
    ends = np.append(starts[1:], len(rows.rows))
    for first, last in rows.key_batches():
        low, high = int(starts[first]), int(ends[last - 1])
        counts = ends[first:last] - starts[first:last]
        # The count of each key precedes its rows, as a number of the same encoding.
        numbers = np.insert(rows.rows[low:high], starts[first:last] - low, counts)
        heads = starts[first:last] - low + np.arange(last - first)
        sizes = np.add.reduceat(sizes_of(numbers), heads)
        yield Entries(
            keys.encoded(rows.keys.take(pa.array(starts[first:last]))), large_binaries(encode(numbers), sizes)
        )


def _listed(values: pa.Array) -> tuple[Longs, Longs]:
    """Decode the rows of values, with the number of rows of each."""
    data, starts = binary_buffers(values)
    numbers, offsets = decode(data[starts[0] : starts[-1]])
    heads = np.searchsorted(offsets, starts[:-1] - starts[0])
    sizes = np.diff(heads, append=len(numbers))
    if not np.array_equal(numbers[heads], sizes - 1):
        raise ValueError("a key does not list as many rows as it declares")
    return np.delete(numbers, heads), sizes - 1

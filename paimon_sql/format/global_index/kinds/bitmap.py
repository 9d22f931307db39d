"""Global index ``bitmap``: for each value the bitmap of its rows.

A file consists of the bitmaps, dictionary blocks with the location of each value's bitmap, a block with the first value
of each dictionary block, the bitmaps of rows without and with a value, and a footer.
Source: Paimon's bitmap global index files.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.format.bytes.bounded import Read, check_count, check_range, check_total
from paimon_sql.format.bytes.memory import Longs, binary_buffers, range_index
from paimon_sql.format.bytes.row_bitmaps import read_rows, serialized_rows, serialized_rows_each
from paimon_sql.format.bytes.varints import decode_one, encode_into, encode_one, sizes_of
from paimon_sql.format.global_index.base import (
    GlobalIndexKind,
    GlobalIndexReader,
    SortedRows,
    between_mask,
    footer_of,
    position,
)
from paimon_sql.format.global_index.blocks import TRAILER_BYTES, Compression, decode_block, encode_block
from paimon_sql.format.global_index.keys import IndexKeys
from paimon_sql.format.options.table import index as settings
from paimon_sql.format.options.values import Option, TableOptions

_MAGIC, _VERSION = 0x42474958, 1
_FOOTER = struct.Struct(">qiqiqiiii")
_COUNT_BYTES = 3
"""Max bytes of the number of keys of a block."""
_MAX_BITS = 63
_ENTRY_BYTES = 3
"""Min bytes of an entry of a block: the length of its key, and its location."""


@dataclass(frozen=True)
class Places:
    """Keys as bytes, each with the location of its bitmap or block."""

    keys: pa.Array
    offsets: Longs
    lengths: Longs

    def block(self) -> bytes:
        """Encode the content of a block: the number of keys, then for each its length, its bytes and its location."""
        data, starts = binary_buffers(self.keys)
        sizes = np.diff(starts)
        heads, offsets, lengths = sizes_of(sizes), sizes_of(self.offsets), sizes_of(self.lengths)
        each = heads + sizes + offsets + lengths
        at = np.cumsum(each) - each
        out = np.zeros(int(each.sum()), np.uint8)
        encode_into(out, at, sizes, heads)
        encode_into(out, at + heads + sizes, self.offsets, offsets)
        encode_into(out, at + heads + sizes + offsets, self.lengths, lengths)
        out[range_index(at + heads, sizes)] = data[starts[0] : starts[-1]]
        return encode_one(len(sizes)) + out.tobytes()

    def sizes(self) -> Longs:
        """The encoded size of each entry."""
        sizes = np.diff(binary_buffers(self.keys)[1])
        return sizes + sizes_of(sizes) + sizes_of(self.offsets) + sizes_of(self.lengths)

    def part(self, start: int, end: int) -> Places:
        """The entries of a range."""
        return Places(self.keys.slice(start, end - start), self.offsets[start:end], self.lengths[start:end])


def read_places(block: bytes) -> Places:
    """Decode a block with its trailer.

    Raises:
        ValueError: it is broken.
    """
    content = decode_block(block)
    count, cursor = decode_one(content, 0, _MAX_BITS)
    check_count(count, (len(content) - cursor) // _ENTRY_BYTES, "keys of a block")
    keys, offsets, lengths = [], np.zeros(count, np.int64), np.zeros(count, np.int64)
    # Each entry begins at the end of the previous one, so they are decoded one by one; a block has few.
    for i in range(count):
        size, cursor = decode_one(content, cursor, _MAX_BITS)
        check_range(cursor, size, len(content), "a key of a block")
        keys.append(content[cursor : cursor + size])
        offsets[i], cursor = decode_one(content, cursor + size, _MAX_BITS)
        lengths[i], cursor = decode_one(content, cursor, _MAX_BITS)
    return Places(pa.array(keys, pa.large_binary()), offsets, lengths)


class _Reader(GlobalIndexReader):
    def __init__(self, read: Read, size: int, keys: IndexKeys) -> None:
        self._read, self._size, self._keys = read, size, keys
        numbers = footer_of(read, size, _FOOTER, _MAGIC, _VERSION, "bitmap index")
        self._nulls, self._index = numbers[0:2], numbers[4:6]

    def among(self, keys: pa.Array) -> BitMap64:
        firsts = self._firsts
        blocks = sorted({position(firsts, key, behind=True) - 1 for key in keys})
        return self._rows([i for i in blocks if i >= 0], lambda found: pc.is_in(found, value_set=keys))

    def between(
        self, low: pa.Scalar | None, high: pa.Scalar | None, *, with_low: bool = True, with_high: bool = True
    ) -> BitMap64:
        first = 0 if low is None else max(0, position(self._firsts, low, behind=True) - 1)
        last = len(self._firsts) if high is None else position(self._firsts, high, behind=with_high)
        return self._rows(
            range(first, last), lambda found: between_mask(found, low, high, with_low=with_low, with_high=with_high)
        )

    def nulls(self) -> BitMap64:
        return read_rows(self._read(*self._nulls))

    @cached_property
    def _top(self) -> Places:
        offset, size = self._index
        blocks = read_places(self._read(offset, size + TRAILER_BYTES))
        check_total(blocks.lengths, self._size, "the blocks of the dictionary")
        return blocks

    @cached_property
    def _firsts(self) -> pa.Array:
        """The first key of each block."""
        return self._keys.decoded(self._top.keys)

    def _rows(self, blocks: list[int] | range, is_wanted: Callable[[pa.Array], pa.Array]) -> BitMap64:
        found = BitMap64()
        for i in blocks:
            offset, size = int(self._top.offsets[i]), int(self._top.lengths[i])
            entries = read_places(self._read(offset, size + TRAILER_BYTES))
            check_total(entries.lengths, self._size, "the bitmaps of a block")
            wanted = is_wanted(self._keys.decoded(entries.keys)).to_numpy(zero_copy_only=False)
            for at, length in zip(entries.offsets[wanted].tolist(), entries.lengths[wanted].tolist(), strict=True):
                found |= read_rows(self._read(at, length))
        return found


class Bitmap(GlobalIndexKind):
    """A bitmap for each value: for columns of few distinct values, searched by equality."""

    name = "bitmap"
    max_search_bytes = settings.BITMAP_INDEX_FALLBACK_SCAN_MAX_SIZE
    reader = staticmethod(_Reader)
    compression: ClassVar[Option[str]] = settings.BITMAP_INDEX_COMPRESSION
    compression_level: ClassVar[Option[int]] = settings.BITMAP_INDEX_COMPRESSION_LEVEL
    block_size: ClassVar[Option[int]] = settings.BITMAP_INDEX_DICTIONARY_BLOCK_SIZE

    def write(self, rows: SortedRows, keys: IndexKeys, options: TableOptions) -> Iterator[bytes]:
        compression = Compression(options.get(self.compression), options.get(self.compression_level))
        starts = rows.starts()
        counts = np.diff(starts, append=len(rows.rows))
        lengths = np.zeros(len(starts), np.int64)
        for first, last in rows.key_batches():
            low = starts[first]
            bitmaps = serialized_rows_each(rows.rows[low : low + counts[first:last].sum()], counts[first:last])
            lengths[first:last] = [len(body) for body in bitmaps]
            yield b"".join(bitmaps)
        dictionary = Places(keys.encoded(rows.keys.take(pa.array(starts))), np.cumsum(lengths) - lengths, lengths)
        at = int(lengths.sum())
        firsts, offsets, sizes = [], [], []
        for start, end in pairwise(_cuts(dictionary.sizes(), options.get(self.block_size))):
            block, size = encode_block(dictionary.part(start, end).block(), compression)
            firsts.append(start)
            offsets.append(at)
            sizes.append(size)
            at += len(block)
            yield block
        locations = []
        none = rows.nulls[:0]
        for some_rows in (none, none) if self.is_of_elements else (rows.nulls, np.sort(rows.rows)):
            body = serialized_rows(some_rows)
            locations += [at, len(body)]
            at += len(body)
            yield body
        index = Places(
            dictionary.keys.take(pa.array(firsts, pa.int64())), np.array(offsets, np.int64), np.array(sizes, np.int64)
        )
        block, size = encode_block(index.block(), compression)
        yield block
        yield _FOOTER.pack(*locations, at, size, len(starts), _VERSION, _MAGIC)


def _cuts(sizes: Longs, block_size: int) -> list[int]:
    """Cut the dictionary into blocks: max keys that fit into a block, at least one; the starts, then the end."""
    before = np.concatenate([[0], np.cumsum(sizes)])
    cuts = [0]
    while (start := cuts[-1]) < len(sizes):
        end = int(np.searchsorted(before, before[start] + block_size - _COUNT_BYTES, side="right")) - 1
        cuts.append(max(end, start + 1))
    return cuts

"""Blocks of index files: sorted key-value entries, possibly compressed, with a checksum and an index of the blocks.

An entry is a key and a value, each preceded by its length. A block ends with the size of its entries if that is equal
for all, else with the offset of each entry. Source: the SST files of Paimon's indexes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.bytes.bounded import check_count, check_total, expansion_limit
from paimon_sql.format.bytes.codecs import decompress
from paimon_sql.format.bytes.memory import Longs, binary_buffers, range_index
from paimon_sql.format.bytes.varints import decode_one, decoded_at, encode, encode_into, encode_one, sizes_of
from paimon_sql.format.global_index.keys import large_binaries

COMPRESSIONS = ("none", "zstd", "lz4")
"""Compressions of written blocks; their numbers in files are the indexes."""
TRAILER_BYTES = 5
_LZO = 3
_LZ4_HEAD = struct.Struct("<ii")
_MIN_SAVING = 8
"""Blocks are stored uncompressed unless compression saves at least this fraction: 1 / 8."""


@dataclass(frozen=True)
class Compression:
    """The compression of blocks; ``level`` is for zstd."""

    name: str = "none"
    level: int = 1

    @property
    def number(self) -> int:
        """Its number in files."""
        return COMPRESSIONS.index(self.name)

    def compress(self, data: bytes) -> bytes:
        """Compress bytes."""
        if self.name == "lz4":
            packed = bytes(pa.Codec("lz4_raw").compress(data, asbytes=True))
            return _LZ4_HEAD.pack(len(packed), len(data)) + packed
        return bytes(pa.Codec("zstd", self.level).compress(data, asbytes=True))


def encode_block(data: bytes, compression: Compression) -> tuple[bytes, int]:
    """Encode a block with its trailer; with the size without trailer."""
    number, body = 0, data
    if compression.number:
        packed = encode_one(len(data)) + compression.compress(data)
        if len(packed) < len(data) - len(data) // _MIN_SAVING:
            number, body = compression.number, packed
    return body + struct.pack("<BI", number, _checksum(body, number)), len(body)


def decode_block(block: bytes) -> bytes:
    """Check and decompress a block with its trailer.

    Raises:
        ValueError: its checksum is wrong, or it cannot be decompressed.
        UnsupportedError: its compression is not available.
    """
    if len(block) < TRAILER_BYTES:
        raise ValueError("a block is cut off")
    body, (number, checksum) = block[:-TRAILER_BYTES], struct.unpack("<BI", block[-TRAILER_BYTES:])
    if _checksum(body, number) != checksum:
        raise ValueError("a block does not match its checksum")
    if number == 0:
        return body
    if number == _LZO:
        raise UnsupportedError("The index is compressed with LZO, which is not available here.")
    if number >= len(COMPRESSIONS):
        raise ValueError(f"a block has the unknown compression {number}")
    size, start = decode_one(body, 0)
    packed = body[start:]
    check_count(size, expansion_limit(len(packed)), "bytes of a block")
    codec = "zstandard"
    if COMPRESSIONS[number] == "lz4":
        codec, packed = "lz4", packed[_LZ4_HEAD.size :]
    try:
        data = decompress(codec, packed, size)
    except Exception as error:  # each codec has other errors
        raise ValueError(f"a block cannot be decompressed: {error}") from error
    if len(data) != size:
        raise ValueError(f"a block has {len(data)} bytes uncompressed, but declares {size}")
    return data


def _checksum(body: bytes, number: int) -> int:
    return zlib.crc32(bytes([number]), zlib.crc32(body))


_TAIL = 5
_OFFSET = 4
_ONE_SIZE, _OFFSETS = b"\0", b"\1"
_MAX_READ = 4 * 1024 * 1024


@dataclass(frozen=True)
class Handle:
    """Location of a block; ``size`` is without its trailer."""

    offset: int
    size: int


@dataclass(frozen=True)
class Entries:
    """Keys with their values, as large binaries."""

    keys: pa.Array
    values: pa.Array

    def sizes(self) -> Longs:
        """The encoded size of each entry."""
        parts = [np.diff(binary_buffers(part)[1]) for part in (self.keys, self.values)]
        total = parts[0] + parts[1]
        for part in parts:
            total += sizes_of(part)
        return total

    def block(self) -> bytes:
        """Encode the entries as the content of one block."""
        keys, key_starts = binary_buffers(self.keys)
        values, value_starts = binary_buffers(self.values)
        key_sizes, value_sizes = np.diff(key_starts), np.diff(value_starts)
        key_heads, value_heads = sizes_of(key_sizes), sizes_of(value_sizes)
        sizes = key_heads + key_sizes + value_heads + value_sizes
        ends = np.cumsum(sizes)
        at = ends - sizes
        out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
        encode_into(out, at, key_sizes, key_heads)
        out[range_index(at + key_heads, key_sizes)] = keys[key_starts[0] : key_starts[-1]]
        encode_into(out, at + key_heads + key_sizes, value_sizes, value_heads)
        out[range_index(ends - value_sizes, value_sizes)] = values[value_starts[0] : value_starts[-1]]
        if len(sizes) and (sizes == sizes[0]).all():
            tail = int(sizes[0]).to_bytes(4, "little") + _ONE_SIZE
        else:
            tail = at.astype("<i4").tobytes() + len(at).to_bytes(4, "little") + _OFFSETS
        return out.tobytes() + tail


def encode_blocks(
    parts: Iterator[Entries], block_size: int, compression: Compression, last_keys: list[Entries]
) -> Iterator[bytes]:
    """Yield the encoded blocks of entries.

    Args:
        parts: the entries, in the order of their keys; no block spans two parts.
        block_size: min bytes of a block, except of the last one of a part.
        compression: the compression of blocks.
        last_keys: receives an entry for each block: its last key, and its handle.
    """
    offset = 0
    for part in parts:
        offsets, sizes, lasts = [], [], []
        for start, end in pairwise(_cuts(part.sizes(), block_size)):
            entries = Entries(part.keys.slice(start, end - start), part.values.slice(start, end - start))
            block, size = encode_block(entries.block(), compression)
            offsets.append(offset)
            sizes.append(size)
            lasts.append(end - 1)
            offset += len(block)
            yield block
        last_keys.append(Entries(part.keys.take(pa.array(lasts, pa.int64())), _handles(offsets, sizes)))


def _cuts(sizes: Longs, block_size: int) -> list[int]:
    """Cut entries into blocks, which end with the entry that exceeds the size; the starts, then the end."""
    before = np.concatenate([[0], np.cumsum(sizes)])
    with_offsets = before + _OFFSET * np.arange(len(before))
    changes = np.flatnonzero(np.diff(sizes)) + 1
    cuts = [0]
    while (start := cuts[-1]) < len(sizes):
        # Up to the first entry of another size no offsets are stored.
        following = np.searchsorted(changes, start, side="right")
        other = int(changes[following]) if following < len(changes) else len(sizes)
        end = int(np.searchsorted(before, before[start] + block_size - _TAIL, side="right"))
        if end > other:
            end = int(np.searchsorted(with_offsets, with_offsets[start] + block_size - _TAIL, side="right"))
            end = max(end, other + 1)
        cuts.append(min(end, len(sizes)))
    return cuts


def _handles(offsets: list[int], sizes: list[int]) -> pa.Array:
    numbers = np.array([offsets, sizes], np.int64).T.ravel()
    return large_binaries(encode(numbers), sizes_of(numbers).reshape(-1, 2).sum(axis=1))


def concat(parts: list[Entries]) -> Entries:
    """Concatenate entries."""
    nothing = pa.array([], pa.large_binary())
    return Entries(
        pa.concat_arrays([nothing, *(p.keys for p in parts)]), pa.concat_arrays([nothing, *(p.values for p in parts)])
    )


def read_entries(block: bytes) -> Entries:
    """Decode the entries of a block with its trailer.

    Raises:
        ValueError: it is broken.
    """
    content = decode_block(block)
    if len(content) < _TAIL:
        raise ValueError("a block is cut off")
    number, kind = int.from_bytes(content[-_TAIL:-1], "little"), content[-1:]
    data = np.frombuffer(content, np.uint8)
    if kind == _ONE_SIZE:
        end = len(content) - _TAIL
        if number <= 0 or end % number:
            raise ValueError("a block does not hold entries of one size")
        at = np.arange(0, end, number, dtype=np.int64)
    elif kind == _OFFSETS:
        end = len(content) - _TAIL - _OFFSET * number
        if number < 0 or end < 0:
            raise ValueError("a block is cut off")
        at = np.frombuffer(content, "<i4", number, end).astype(np.int64)
    else:
        raise ValueError(f"a block is of the unknown type {kind.hex()}")
    if len(at) and at.min() < 0:
        raise ValueError("a number has a negative offset")
    key_sizes, key_starts = decoded_at(data, at)
    check_total(key_sizes, end, "the keys of a block")
    value_sizes, value_starts = decoded_at(data, key_starts + key_sizes)
    check_total(value_sizes, end, "the values of a block")
    if len(at) and (value_starts + value_sizes).max() > end:
        raise ValueError("an entry of a block is cut off")
    return Entries(
        large_binaries(data[range_index(key_starts, key_sizes)], key_sizes),
        large_binaries(data[range_index(value_starts, value_sizes)], value_sizes),
    )


def read_handles(values: pa.Array) -> list[Handle]:
    """Decode the handles of blocks from the values of the index block.

    Raises:
        ValueError: a handle is cut off, or blocks overlap.
    """
    data, starts = binary_buffers(values)
    offsets, ends = decoded_at(data, starts[:-1])
    sizes, _ = decoded_at(data, ends)
    if (np.diff(offsets) < sizes[:-1]).any():
        raise ValueError("the blocks overlap")
    return [Handle(*pair) for pair in zip(offsets.tolist(), sizes.tolist(), strict=True)]


def runs_of(handles: list[Handle]) -> Iterator[list[Handle]]:
    """Yield runs of adjacent blocks, up to the max size of one read."""
    run: list[Handle] = []
    for handle in handles:
        if run and (
            handle.offset != run[-1].offset + run[-1].size + TRAILER_BYTES or handle.offset - run[0].offset > _MAX_READ
        ):
            yield run
            run = []
        run.append(handle)
    if run:
        yield run

"""Blocks of index files: bytes, possibly compressed, followed by a trailer of compression and checksum."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.bytes.bounded import check_count, expansion_limit
from paimon_sql.format.bytes.decompression import decompress
from paimon_sql.format.bytes.varints import decoded_at, encode

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
        packed = encode(np.array([len(data)])).tobytes() + compression.compress(data)
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
    sizes, starts = decoded_at(np.frombuffer(body, np.uint8), np.zeros(1, np.int64))
    packed = body[int(starts[0]) :]
    size = int(sizes[0])
    check_count(size, expansion_limit(len(packed)), "bytes of a block")
    codec = "zstandard"
    if COMPRESSIONS[number] == "lz4":
        codec, packed = "lz4", packed[_LZ4_HEAD.size :]
    try:
        data = decompress(codec, packed, size)
    except Exception as error:  # each codec has other errors
        raise ValueError(f"a block cannot be unpacked: {error}") from error
    if len(data) != size:
        raise ValueError(f"a block has {len(data)} bytes uncompressed, and {size} as it says")
    return data


def _checksum(body: bytes, number: int) -> int:
    return zlib.crc32(bytes([number]), zlib.crc32(body))

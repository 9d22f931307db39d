"""Decompression with a memory limit: the codecs of Avro and ORC files."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import Any

import cramjam

from paimon_sql.format.bytes.bounded import BoundsError, check_count
from paimon_sql.format.bytes.lzo import decompress_lzo

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CRC_BYTES = 4
_LZ4_RATIO = 255
"""Max compression ratio of an LZ4 block."""
_XZ_MEMORY = 256 << 20
"""Memory limit of xz; the highest preset of the compressor needs a quarter of it."""
_MAX_FRAMES = 16
"""Max consecutive frames; writers make one."""


def decompress(codec: str, data: bytes, limit: int) -> bytes:
    """Decompress bytes.

    Args:
        codec: ``null``, ``deflate`` (without a header), ``snappy`` (without a frame), ``snappy-crc`` (followed by a
            checksum, as in Avro), ``lz4`` and ``lzo`` (a block), ``zstandard``, ``bzip2`` or ``xz``.
        data: the compressed bytes.
        limit: max bytes of the result.

    Raises:
        BoundsError: the result is larger.
        Exception: the bytes are broken; each codec has other errors.
    """
    return _CODECS[codec](data, limit)


def _plain(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise _too_many(limit)
    return data


def _deflate(data: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    plain = unpacker.decompress(data, limit + 1)
    if len(plain) > limit:
        raise _too_many(limit)
    if not unpacker.eof:
        raise BoundsError("the compressed bytes are cut off")
    return plain


def _snappy(data: bytes, limit: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > limit:
        raise _too_many(limit)
    return bytes(cramjam.snappy.decompress_raw(data))


def _snappy_with_checksum(data: bytes, limit: int) -> bytes:
    plain = _snappy(data[:-_CRC_BYTES], limit)
    if zlib.crc32(plain).to_bytes(_CRC_BYTES, "big") != data[-_CRC_BYTES:]:
        raise ValueError("the checksum of a block does not match")
    return plain


def _lz4(data: bytes, limit: int) -> bytes:
    # The variant with a bound instead of a buffer pads the result with zeros up to the bound.
    out = bytearray(min(limit, _LZ4_RATIO * (len(data) + 1)))
    return bytes(memoryview(out)[: cramjam.lz4.decompress_block_into(data, out)])


def _framed(unpacker: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    """A codec whose bytes are one or several frames, each of which needs a new decompressor."""

    def unpack(data: bytes, limit: int) -> bytes:
        parts: list[bytes] = []
        remaining = limit
        while data or not parts:
            check_count(len(parts), _MAX_FRAMES, "compressed frames")
            frame = unpacker()
            parts.append(frame.decompress(data, remaining + 1))
            remaining -= len(parts[-1])
            if remaining < 0:
                raise _too_many(limit)
            if not frame.eof:
                raise BoundsError("the compressed bytes are cut off")
            data = frame.unused_data
        return parts[0] if len(parts) == 1 else b"".join(parts)

    return unpack


def _too_many(limit: int) -> BoundsError:
    return BoundsError(f"it expands to more than {limit} bytes")


_CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "null": _plain,
    "deflate": _deflate,
    "snappy": _snappy,
    "snappy-crc": _snappy_with_checksum,
    "lz4": _lz4,
    "lzo": decompress_lzo,
    "zstandard": _framed(zstd.ZstdDecompressor),
    "bzip2": _framed(bz2.BZ2Decompressor),
    "xz": _framed(lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)),
}

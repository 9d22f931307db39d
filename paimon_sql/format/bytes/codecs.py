"""Decompression with a memory limit: the codecs of Avro and ORC files, with LZO1X for old ORC files."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable

import cramjam

from paimon_sql.format.bytes.bounded import BoundsError, check_count

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["CRC_BYTES", "decompress", "decompress_lzo", "zstd"]

_FIRST_LITERALS = 17
"""A first byte above this encodes the number of literals at the start of the stream."""
_AFTER_LITERALS = 4
"""The state after a long run of literals; the state after a match is the number of literals that follow it."""
_FAR, _MIDDLE = 16384, 2049
"""First distances of the two kinds of matches with the longest distances."""


def decompress_lzo(data: bytes, limit: int) -> bytes:
    """Decompress an LZO1X block, which no dependency exposes.

    Arrow decompresses the data of a file; only footers and fractions of timestamps are decompressed here, so that a
    loop over instructions is fast enough.

    Args:
        data: the block.
        limit: max bytes of the result.

    Raises:
        BoundsError: the result is larger.
        ValueError: the block is broken.
    """
    try:
        return _Block(data, limit).unpacked()
    except IndexError:
        raise ValueError("an LZO block ends early") from None


class _Block:
    def __init__(self, data: bytes, limit: int) -> None:
        self._data = data
        self._limit = limit
        self._at = 0
        self._out = bytearray()

    def unpacked(self) -> bytes:
        state = 0
        if self._data[0] > _FIRST_LITERALS:
            count = self._byte() - _FIRST_LITERALS
            self._literals(count)
            state = min(count, _AFTER_LITERALS)
        while True:
            code = self._byte()
            if code < 16 and state == 0:
                self._literals(3 + self._length(code, 15))
                state = _AFTER_LITERALS
                continue
            if code >= 64:
                length = 5 + (code >> 5 & 3) if code >= 128 else 3 + (code >> 5 & 1)
                distance = (self._byte() << 3) + (code >> 2 & 7) + 1
                state = code & 3
            elif code >= 32:
                length = 2 + self._length(code & 31, 31)
                distance, state = self._pair()
                distance += 1
            elif code >= 16:
                length = 2 + self._length(code & 7, 7)
                distance, state = self._pair()
                distance += _FAR + ((code & 8) << 11)
                if distance == _FAR:
                    return bytes(self._out)
            else:
                far = state == _AFTER_LITERALS
                length = 3 if far else 2
                distance = (self._byte() << 2) + (code >> 2) + (_MIDDLE if far else 1)
                state = code & 3
            self._match(distance, length)
            self._literals(state)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _length(self, coded: int, maximum: int) -> int:
        """A length: ``coded``, the bits of the instruction, or encoded in the next bytes if these bits are zero."""
        if coded:
            return coded
        length = maximum
        while (byte := self._byte()) == 0:
            length += 255
        return length + byte

    def _pair(self) -> tuple[int, int]:
        """A distance of 14 bits, and the number of literals after the match."""
        pair = self._byte() | self._byte() << 8
        return pair >> 2, pair & 3

    def _literals(self, count: int) -> None:
        self._check(count)
        piece = self._data[self._at : self._at + count]
        if len(piece) < count:
            raise ValueError("an LZO block ends early")
        self._out += piece
        self._at += count

    def _match(self, distance: int, length: int) -> None:
        self._check(length)
        start = len(self._out) - distance
        if start < 0:
            raise ValueError("an LZO block refers to bytes before its start")
        pattern = self._out[start : start + length]
        self._out += (pattern * (length // len(pattern) + 1))[:length]

    def _check(self, more: int) -> None:
        if len(self._out) + more > self._limit:
            raise BoundsError(f"an LZO block holds more than {self._limit} bytes")


CRC_BYTES = 4
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
    plain = _CODECS[codec](data, limit)
    if len(plain) > limit:
        raise _too_many(limit)
    return plain


def _deflate(data: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    plain = unpacker.decompress(data, limit + 1)
    if not unpacker.eof and len(plain) <= limit:
        raise BoundsError("the compressed bytes are cut off")
    return plain


def _snappy(data: bytes, limit: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > limit:
        raise _too_many(limit)
    return bytes(cramjam.snappy.decompress_raw(data))


def _snappy_with_checksum(data: bytes, limit: int) -> bytes:
    plain = _snappy(data[:-CRC_BYTES], limit)
    if zlib.crc32(plain).to_bytes(CRC_BYTES, "big") != data[-CRC_BYTES:]:
        raise ValueError("the checksum of a block does not match")
    return plain


def _lz4(data: bytes, limit: int) -> bytes:
    # The variant with a bound instead of a buffer pads the result with zeros up to the bound.
    out = bytearray(min(limit, _LZ4_RATIO * (len(data) + 1)))
    return bytes(memoryview(out)[: cramjam.lz4.decompress_block_into(data, out)])


def _framed(
    unpacker: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor | zstd.ZstdDecompressor],
) -> Callable[[bytes, int], bytes]:
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
    "null": lambda data, limit: data,
    "deflate": _deflate,
    "snappy": _snappy,
    "snappy-crc": _snappy_with_checksum,
    "lz4": _lz4,
    "lzo": decompress_lzo,
    "zstandard": _framed(zstd.ZstdDecompressor),
    "bzip2": _framed(bz2.BZ2Decompressor),
    "xz": _framed(lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)),
}

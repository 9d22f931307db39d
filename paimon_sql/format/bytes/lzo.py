"""LZO1X decompression for old ORC files (format: the Linux kernel's "LZO stream format").

None of our dependencies exposes it. Arrow decompresses the data of a file; only footers and fractions of timestamps are
decompressed here, so that a loop over instructions is fast enough.
"""

from __future__ import annotations

from paimon_sql.format.bytes.bounded import BoundsError

_FIRST_LITERALS = 17
"""A first byte above this encodes the number of literals at the start of the stream."""
_AFTER_LITERALS = 4
"""The state after a long run of literals; the state after a match is the number of literals that follow it."""
_FAR, _MIDDLE = 16384, 2049
"""First distances of the two kinds of matches with the longest distances."""


def decompress_lzo(data: bytes, limit: int) -> bytes:
    """Decompress an LZO1X block.

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
            raise ValueError("an LZO block refers to what stands before it")
        pattern = self._out[start : start + length]
        self._out += (pattern * (length // len(pattern) + 1))[:length]

    def _check(self, more: int) -> None:
        if len(self._out) + more > self._limit:
            raise BoundsError(f"an LZO block holds more than {self._limit} bytes")

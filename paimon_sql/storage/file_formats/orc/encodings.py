"""Encodings of ORC files: Protocol Buffers of the metadata, and run lengths of integers (spec: Apache ORC v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.bytes.varints import decode_one, decode_signed, encode_one

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Value: TypeAlias = "int | bytes"


@dataclass
class Message:
    """A message: its fields in order, as number, wire type and value; a varint is an int, all else bytes.

    The meaning of fields is unknown here, so rewritten metadata preserves its content.
    """

    fields: list[tuple[int, int, Value]] = field(default_factory=list)

    def numbers(self, number: int) -> list[int]:
        """Return the values of a repeated varint field, packed or not."""
        found: list[int] = []
        for field_number, kind, value in self.fields:
            if field_number == number and isinstance(value, int):
                found.append(value)
            elif field_number == number and kind == _BYTES and isinstance(value, bytes):
                found += _varints(value)
        return found

    def number(self, number: int, default: int = 0) -> int:
        """Return the value of a varint field."""
        found = self.numbers(number)
        return found[-1] if found else default

    def texts(self, number: int) -> list[bytes]:
        """Return the values of a repeated bytes field."""
        return [value for field_number, _, value in self.fields if field_number == number and isinstance(value, bytes)]

    def text(self, number: int) -> bytes | None:
        """Return the value of a bytes field; None if absent."""
        found = self.texts(number)
        return found[-1] if found else None

    def messages(self, number: int) -> list[Message]:
        """Return the messages of a repeated field."""
        return [decode(value) for value in self.texts(number)]

    def with_number(self, number: int, value: int) -> Message:
        """Return the message with one value in a varint field."""
        return self._with(number, [(number, _VARINT, value)])

    def with_texts(self, number: int, values: Iterable[bytes]) -> Message:
        """Return the message with these values in a bytes field."""
        return self._with(number, [(number, _BYTES, value) for value in values])

    def _with(self, number: int, added: list[tuple[int, int, Value]]) -> Message:
        return Message(sorted([*(f for f in self.fields if f[0] != number), *added], key=lambda f: f[0]))


def decode(data: bytes) -> Message:
    """Decode a message; ValueError if invalid."""
    message = Message()
    at = 0
    while at < len(data):
        key, at = decode_one(data, at)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == _VARINT:
            value, at = decode_one(data, at)
        else:
            if kind == _BYTES:
                size, at = decode_one(data, at)
            elif kind in (_FIXED64, _FIXED32):
                size = 8 if kind == _FIXED64 else 4
            else:
                raise ValueError(f"wire type {kind} is unknown")
            value, at = data[at : at + size], at + size
        message.fields.append((number, kind, value))
    if at != len(data):
        raise ValueError("the message ends early")
    return message


def encode(message: Message) -> bytes:
    """Encode a message."""
    out = bytearray()
    for number, kind, value in message.fields:
        out += encode_one(number << 3 | kind)
        if isinstance(value, int):
            out += encode_one(value)
        else:
            out += (encode_one(len(value)) if kind == _BYTES else b"") + value
    return bytes(out)


def packed(values: Iterable[int]) -> bytes:
    """Encode a packed repeated varint field."""
    return b"".join(map(encode_one, values))


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = decode_one(data, at)
        yield value


_WIDTHS = [*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64]
_MAX_RUN = 512
_SHORT_REPEAT, _DIRECT, _PATCHED_BASE, _DELTA = range(4)


def encode_unsigned(values: Longs) -> bytes:
    """Encode non-negative numbers in runs, with the bit width of each run's maximum."""
    out = bytearray()
    for first in range(0, len(values), _MAX_RUN):
        run = values[first : first + _MAX_RUN]
        code = next(c for c, width in enumerate(_WIDTHS) if width >= int(run.max()).bit_length())
        length = len(run) - 1
        out += bytes([_DIRECT << 6 | code << 1 | length >> 8, length & 0xFF])
        bits = np.unpackbits(run.astype(">i8").view(np.uint8).reshape(-1, 8), axis=1)
        out += np.packbits(bits[:, 64 - _WIDTHS[code] :]).tobytes()
    return bytes(out)


class UnsignedRuns:
    """Non-negative numbers, decoded incrementally: few bytes can encode very many."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._rest = np.empty(0, np.int64)

    def take(self, count: int) -> Longs:
        """Return the next ``count`` numbers.

        Raises:
            ValueError: there are fewer, or a run is invalid.
        """
        out = np.empty(count, np.int64)
        done = 0
        while done < count:
            if not len(self._rest):
                if self._at >= len(self._data):
                    raise ValueError(f"a run-length stream holds {done} numbers of {count}")
                self._rest, self._at = _run(self._data, self._at)
            size = min(len(self._rest), count - done)
            out[done : done + size] = self._rest[:size]
            self._rest = self._rest[size:]
            done += size
        return out


def decode_unsigned(data: bytes) -> Longs:
    """Decode a complete stream of our own, without negative numbers; decode foreign ones with `UnsignedRuns`."""
    runs, at = [np.empty(0, np.int64)], 0
    while at < len(data):
        run, at = _run(data, at)
        runs.append(run)
    return np.concatenate(runs)


def _run(data: bytes, at: int) -> tuple[Longs, int]:
    head = data[at]
    encoding = head >> 6
    if encoding == _SHORT_REPEAT:
        width = (head >> 3 & 7) + 1
        value = int.from_bytes(data[at + 1 : at + 1 + width], "big")
        return np.full((head & 7) + 3, value, np.int64), at + 1 + width
    code = head >> 1 & 31
    length = ((head & 1) << 8 | data[at + 1]) + 1
    at += 2
    if encoding == _DIRECT:
        return _bits(data, at, _WIDTHS[code], length)
    if encoding == _PATCHED_BASE:
        return _patched(data, at, _WIDTHS[code], length)
    return _delta(data, at, _WIDTHS[code] if code else 0, length)


def _bits(data: bytes, at: int, width: int, count: int) -> tuple[Longs, int]:
    """Decode ``count`` numbers of ``width`` bits, big-endian, padded to bytes."""
    end = at + (count * width + 7) // 8
    raw = np.frombuffer(data, np.uint8, end - at, at)
    bits = np.unpackbits(raw, count=count * width).reshape(count, width)
    padded = np.zeros((count, 64), np.uint8)
    padded[:, 64 - width :] = bits
    return np.packbits(padded, axis=1).view(">i8").ravel().astype(np.int64), end


def _patched(data: bytes, at: int, width: int, length: int) -> tuple[Longs, int]:
    base_bytes = (data[at] >> 5) + 1
    patch_width = _WIDTHS[data[at] & 31]
    gap_width = (data[at + 1] >> 5) + 1
    patches = data[at + 1] & 31
    at += 2
    base = int.from_bytes(data[at : at + base_bytes], "big")
    sign = 1 << (base_bytes * 8 - 1)
    base = -(base & ~sign) if base & sign else base
    values, at = _bits(data, at + base_bytes, width, length)
    entry_width = next((w for w in _WIDTHS if w >= patch_width + gap_width), None)
    if entry_width is None:
        raise ValueError("a patch is wider than a number")
    entries, at = _bits(data, at, entry_width, patches)
    positions = np.cumsum(entries >> patch_width)
    high = (entries & ((1 << patch_width) - 1)) << width
    np.bitwise_or.at(values, np.minimum(positions, length - 1), high)
    return values + base, at


def _delta(data: bytes, at: int, width: int, length: int) -> tuple[Longs, int]:
    base, at = decode_one(data, at)
    step, at = decode_signed(data, at)
    if width == 0:
        return base + step * np.arange(length, dtype=np.int64), at
    steps = np.empty(length, np.int64)
    steps[0] = base
    if length > 1:
        steps[1] = step
    if length > 2:
        rest, at = _bits(data, at, width, length - 2)
        steps[2:] = -rest if step < 0 else rest
    return np.cumsum(steps), at

"""Protocol Buffers' wire format, as far as ORC's metadata uses it.

The meaning of fields is unknown here, so rewritten metadata preserves its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_BITS = 64

Value: TypeAlias = "int | bytes"


@dataclass
class Message:
    """A message: its fields in order, as number, wire type and value; a varint is an int, all else bytes."""

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
        others = [f for f in self.fields if f[0] != number]
        return Message(sorted([*others, (number, _VARINT, value)], key=lambda f: f[0]))

    def with_texts(self, number: int, values: Iterable[bytes]) -> Message:
        """Return the message with these values in a bytes field."""
        others = [f for f in self.fields if f[0] != number]
        added: list[tuple[int, int, Value]] = [(number, _BYTES, value) for value in values]
        return Message(sorted([*others, *added], key=lambda f: f[0]))


def decode(data: bytes) -> Message:
    """Decode a message; ValueError or IndexError if invalid."""
    message = Message()
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == _VARINT:
            value, at = read_varint(data, at)
        else:
            if kind == _BYTES:
                size, at = read_varint(data, at)
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
        out += varint(number << 3 | kind)
        if isinstance(value, int):
            out += varint(value)
        else:
            out += (varint(len(value)) if kind == _BYTES else b"") + value
    return bytes(out)


def packed(values: Iterable[int]) -> bytes:
    """Encode a packed repeated varint field."""
    return b"".join(map(varint, values))


def varint(value: int) -> bytes:
    """Encode a non-negative number, seven bits per byte, little-endian."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the number at a position; return it and the next position. ValueError or IndexError if invalid."""
    value = 0
    for shift in range(0, _MAX_BITS, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number does not end")


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value

"""Protocol Buffers' wire format, as far as ORC's metadata uses it: bytes to numbered fields and back.

Nothing is known here of what the fields mean, so metadata that is read and written again keeps what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_BITS = 64

Value: TypeAlias = "int | bytes"


@dataclass
class Message:
    """A message: its fields in order, as number and value; a varint is an int, all else bytes."""

    fields: list[tuple[int, int, Value]] = field(default_factory=list)

    def numbers(self, number: int) -> list[int]:
        """The values of a repeated varint field, packed or not."""
        found: list[int] = []
        for at, kind, value in self.fields:
            if at == number and isinstance(value, int):
                found.append(value)
            elif at == number and kind == _BYTES and isinstance(value, bytes):
                found += _varints(value)
        return found

    def number(self, number: int, default: int = 0) -> int:
        """The value of a varint field."""
        found = self.numbers(number)
        return found[-1] if found else default

    def texts(self, number: int) -> list[bytes]:
        """The values of a repeated field of bytes."""
        return [value for at, _, value in self.fields if at == number and isinstance(value, bytes)]

    def text(self, number: int) -> bytes | None:
        """The value of a field of bytes, None if it is not there."""
        found = self.texts(number)
        return found[-1] if found else None

    def messages(self, number: int) -> list[Message]:
        """The messages in a repeated field."""
        return [decode(value) for value in self.texts(number)]

    def with_number(self, number: int, value: int) -> Message:
        """The same message with one value in a varint field."""
        kept = [f for f in self.fields if f[0] != number]
        return Message(sorted([*kept, (number, _VARINT, value)], key=lambda f: f[0]))

    def with_texts(self, number: int, values: Iterable[bytes]) -> Message:
        """The same message with these values in a field of bytes."""
        kept = [f for f in self.fields if f[0] != number]
        added: list[tuple[int, int, Value]] = [(number, _BYTES, value) for value in values]
        return Message(sorted([*kept, *added], key=lambda f: f[0]))


def decode(data: bytes) -> Message:
    """The message that the bytes hold; ValueError or IndexError if they hold none."""
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
    """The bytes of a message."""
    out = bytearray()
    for number, kind, value in message.fields:
        out += varint(number << 3 | kind)
        if isinstance(value, int):
            out += varint(value)
        else:
            out += (varint(len(value)) if kind == _BYTES else b"") + value
    return bytes(out)


def packed(values: Iterable[int]) -> bytes:
    """The content of a packed repeated varint field."""
    return b"".join(map(varint, values))


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte, the least first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a byte, and the byte behind it; ValueError or IndexError if there is none."""
    value = 0
    for shift in range(0, _MOST_BITS, 7):
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

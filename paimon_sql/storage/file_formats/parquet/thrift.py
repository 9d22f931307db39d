"""Thrift's compact protocol, as far as Parquet's file metadata uses it.

The meaning of fields is unknown here, so rewritten metadata preserves its content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from paimon_sql.format.bytes.bounded import check_count

_TRUE, _FALSE = 1, 2
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_LONG_LIST = 15
_MAX_BITS = 64
_MAX_DEPTH = 64
"""Maximum nesting of structs and lists; Parquet's have less than ten levels."""


@dataclass
class Struct:
    """A struct: its fields by id, each with type code and value, in the order of the ids."""

    fields: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def get(self, field_id: int) -> Any:
        """Return a field's value; None if absent."""
        found = self.fields.get(field_id)
        return None if found is None else found[1]


@dataclass
class Items:
    """A list: the type code of its elements, and the elements."""

    kind: int
    values: list[Any]


def decode(data: bytes) -> Struct:
    """Decode a struct; ValueError or IndexError if invalid."""
    return _Reader(data).struct()


def encode(value: Struct) -> bytes:
    """Encode a struct."""
    out = bytearray()
    _write_struct(out, value)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._depth = 0

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ValueError("the metadata ends early")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _varint(self) -> int:
        value = 0
        for shift in range(0, _MAX_BITS, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number does not end")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self) -> Struct:
        found = Struct()
        last = 0
        while (head := self._byte()) != 0:
            kind, delta = head & 0x0F, head >> 4
            last = last + delta if delta else self._zigzag()
            found.fields[last] = (kind, self._value(kind, in_list=False))
        return found

    def _items(self) -> Items:
        head = self._byte()
        size, element = head >> 4, head & 0x0F
        if size == _LONG_LIST:
            size = self._varint()
        check_count(size, len(self._data) - self._at, "elements of a list")
        return Items(element, [self._value(element, in_list=True) for _ in range(size)])

    def _value(self, kind: int, in_list: bool) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE if in_list else kind == _TRUE
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_STRUCT, _LIST, _SET):
            check_count(self._depth, _MAX_DEPTH, "levels of nesting")
            self._depth += 1
            found = self.struct() if kind == _STRUCT else self._items()
            self._depth -= 1
            return found
        if kind == _BYTE:
            return self._take(1)
        if kind == _DOUBLE:
            return self._take(8)
        raise ValueError(f"type code {kind} is unknown")


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_zigzag(out: bytearray, value: int) -> None:
    _write_varint(out, (value << 1) ^ (value >> 63))


def _write_struct(out: bytearray, struct: Struct) -> None:
    last = 0
    for field_id, (kind, value) in sorted(struct.fields.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < field_id - last < 16:
            out.append((field_id - last) << 4 | kind)
        else:
            out.append(kind)
            _write_zigzag(out, field_id)
        last = field_id
        if kind not in (_TRUE, _FALSE):
            _write_value(out, kind, value)
    out.append(0)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _write_zigzag(out, value)
    elif kind == _BINARY:
        _write_varint(out, len(value))
        out += value
    elif kind == _STRUCT:
        _write_struct(out, value)
    elif kind in (_LIST, _SET):
        size = len(value.values)
        if size < _LONG_LIST:
            out.append(size << 4 | value.kind)
        else:
            out.append(_LONG_LIST << 4 | value.kind)
            _write_varint(out, size)
        for item in value.values:
            if value.kind in (_TRUE, _FALSE):
                out.append(_TRUE if item else _FALSE)
            else:
                _write_value(out, value.kind, item)
    else:
        out += value

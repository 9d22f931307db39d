"""Rewriting of Parquet metadata, in Thrift's compact protocol: INT96 as 12 fixed bytes, or back.

Arrow writes INT96 for all timestamps of a file or for none, and reads it without overflow checks. As 12 bytes it is
passed through unchanged (spec: Apache Parquet, "FileMetaData").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_sql.format.bytes.bounded import check_count, check_range
from paimon_sql.format.bytes.varints import decode_one, decode_signed, encode_one, encode_signed

MAGIC = b"PAR1"
_LENGTH = struct.Struct("<I")
_SUFFIX = _LENGTH.size + len(MAGIC)
_INT32_CODE = 5
_INT96, _FIXED, _INT96_SIZE = 3, 7, 12
_SCHEMA, _ROW_GROUPS = 2, 4
_TYPE, _TYPE_LENGTH, _NAME, _CHILDREN = 1, 2, 4, 5
_CHUNKS, _CHUNK_METADATA, _PATH, _STATISTICS = 1, 3, 3, 12


def declare_int96(tail: bytes, paths: Collection[str]) -> bytes:
    """Return the end of a file with the fixed-length columns of these dotted paths declared as INT96.

    Args:
        tail: the last bytes of the file, including the complete footer.
        paths: the columns' paths in the Parquet schema.
    """
    size = _LENGTH.unpack(tail[-_SUFFIX : -len(MAGIC)])[0]
    start = len(tail) - _SUFFIX - size
    metadata = decode(tail[start:-_SUFFIX])
    _retype(metadata, lambda path, code: _INT96 if path in paths and code == _FIXED else code)
    return tail[:start] + _footer(metadata)


def int96_as_bytes(source: pa.NativeFile) -> pq.FileMetaData:
    """Return a file's metadata with every INT96 column declared as 12 fixed bytes.

    Raises:
        ValueError: the footer is larger than the file.
    """
    end = source.size()
    size = _LENGTH.unpack(source.read_at(_LENGTH.size, end - _SUFFIX))[0]
    check_range(end - _SUFFIX - size, size, end, "the footer")
    metadata = decode(source.read_at(size, end - _SUFFIX - size))
    _retype(metadata, lambda _, code: _FIXED if code == _INT96 else code)
    return pq.read_metadata(pa.BufferReader(MAGIC + _footer(metadata)))


def _footer(metadata: Struct) -> bytes:
    coded = encode(metadata)
    return coded + _LENGTH.pack(len(coded)) + MAGIC


def _retype(metadata: Struct, decide: Callable[[str, int], int]) -> None:
    """Change the physical type of columns: ``decide`` returns the new type code for a path and its type code."""
    for path, element in _leaves(metadata.get(_SCHEMA).values):
        code = decide(path, element.get(_TYPE))
        if code != element.get(_TYPE):
            element.fields[_TYPE] = (_INT32_CODE, code)
            element.fields.pop(_TYPE_LENGTH, None)
            if code == _FIXED:
                element.fields[_TYPE_LENGTH] = (_INT32_CODE, _INT96_SIZE)
    for row_group in metadata.get(_ROW_GROUPS).values:
        for chunk in row_group.get(_CHUNKS).values:
            column = chunk.get(_CHUNK_METADATA)
            path = ".".join(part.decode() for part in column.get(_PATH).values)
            code = decide(path, column.get(_TYPE))
            if code != column.get(_TYPE):
                column.fields[_TYPE] = (_INT32_CODE, code)
                column.fields.pop(_STATISTICS, None)


def _leaves(elements: list[Struct]) -> Iterator[tuple[str, Struct]]:
    """Yield the columns of a flattened schema, parents before children, with their dotted paths."""
    groups: list[tuple[str, int]] = []
    for at, element in enumerate(elements):
        name = element.get(_NAME).decode()
        path = f"{groups[-1][0]}.{name}" if len(groups) > 1 else name
        if groups:
            groups[-1] = (groups[-1][0], groups[-1][1] - 1)
        children = element.get(_CHILDREN) or 0
        if children or at == 0:
            groups.append((path, children))
        else:
            yield path, element
        while groups and groups[-1][1] == 0:
            groups.pop()


_TRUE, _FALSE = 1, 2
_BINARY, _LIST, _SET, _STRUCT = 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_FIXED_SIZES = {3: 1, 7: 8}
"""Bytes of single bytes and of doubles."""
_LONG_LIST = 15
_MAX_DEPTH = 64
"""Maximum nesting of structs and lists; Parquet's have less than ten levels."""


Value: TypeAlias = "bool | int | bytes | Struct | Items"


@dataclass
class Struct:
    """A struct: its fields by id, each with type code and value, in the order of the ids.

    The meaning of fields is unknown here, so rewritten metadata preserves its content.
    """

    fields: dict[int, tuple[int, Value]] = field(default_factory=dict)

    def get(self, field_id: int) -> Any:
        """Return a field's value; None if absent."""
        found = self.fields.get(field_id)
        return None if found is None else found[1]


@dataclass
class Items:
    """A list: the type code of its elements, and the elements."""

    kind: int
    values: list[Value]


def decode(data: bytes) -> Struct:
    """Decode a struct; ValueError if invalid."""
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
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ValueError("the metadata ends early")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _varint(self) -> int:
        value, self._at = decode_one(self._data, self._at)
        return value

    def _zigzag(self) -> int:
        value, self._at = decode_signed(self._data, self._at)
        return value

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

    def _value(self, kind: int, in_list: bool) -> Value:
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE if in_list else kind == _TRUE
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_STRUCT, _LIST, _SET):
            check_count(self._depth, _MAX_DEPTH, "levels of nesting")
            self._depth += 1
            found: Value = self.struct() if kind == _STRUCT else self._items()
            self._depth -= 1
            return found
        if kind in _FIXED_SIZES:
            return self._take(_FIXED_SIZES[kind])
        raise ValueError(f"type code {kind} is unknown")


def _write_struct(out: bytearray, struct: Struct) -> None:
    last = 0
    for field_id, (kind, value) in sorted(struct.fields.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < field_id - last < 16:
            out.append((field_id - last) << 4 | kind)
        else:
            out += bytes([kind]) + encode_signed(field_id)
        last = field_id
        if kind not in (_TRUE, _FALSE):
            _write_value(out, kind, value)
    out.append(0)


def _write_value(out: bytearray, kind: int, value: Value) -> None:
    if isinstance(value, int):
        out += encode_signed(value)
    elif isinstance(value, Struct):
        _write_struct(out, value)
    elif isinstance(value, Items):
        size = len(value.values)
        if size < _LONG_LIST:
            out.append(size << 4 | value.kind)
        else:
            out += bytes([_LONG_LIST << 4 | value.kind]) + encode_one(size)
        for item in value.values:
            if value.kind in (_TRUE, _FALSE):
                out.append(_TRUE if item else _FALSE)
            else:
                _write_value(out, value.kind, item)
    else:
        out += (encode_one(len(value)) if kind == _BINARY else b"") + value

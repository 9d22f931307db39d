"""Container of a data file's indexes: a header with the location of each index, and their bytes.

Spec: File Index (Paimon: `FileIndexFormat`). Numbers are big-endian, names are in Java's modified UTF-8:

- magic number (8 bytes), version (4), length of the header (4), number of columns (4);
- for each column its name, the number of its indexes (4), and for each of them its kind, start (4) and length (4);
- the length of additions of later versions (4), which is 0.

An index with start -1 is empty: the file has no rows for it. A map's key is named ``column[key]``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.bytes.bounded import check_range

PREFIX_BYTES = 16
"""Bytes that determine the length of the header."""

_MAGIC = 1493475289347502
_VERSION = 1
_EMPTY = -1
_START = struct.Struct(">qii")
_LOCATION = struct.Struct(">ii")
_INT = struct.Struct(">i")
_LENGTH = struct.Struct(">H")


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """Location of one index in its container."""

    column: str
    kind: str
    start: int
    length: int

    @property
    def is_empty(self) -> bool:
        """Whether the file has no rows for the index, which then has no bytes."""
        return self.start == _EMPTY


def write_container(indexes: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """Encode a container.

    Args:
        indexes: the bytes of each index by column and kind; None for an empty one.
    """
    named = [(_utf(column), [(_utf(kind), body) for kind, body in kinds.items()]) for column, kinds in indexes.items()]
    size = PREFIX_BYTES + 2 * _INT.size
    size += sum(len(c) + _INT.size + sum(len(k) + _LOCATION.size for k, _ in kinds) for c, kinds in named)
    head, bodies, at = bytearray(_INT.pack(len(named))), [], size
    for column, kinds in named:
        head += column + _INT.pack(len(kinds))
        for kind, body in kinds:
            head += kind + (_LOCATION.pack(_EMPTY, 0) if body is None else _LOCATION.pack(at, len(body)))
            bodies.append(body or b"")
            at += len(bodies[-1])
    return b"".join([_START.pack(_MAGIC, _VERSION, size), head, _INT.pack(0), *bodies])


def header_length(prefix: bytes, size: int, path: str) -> int:
    """The length of the header, from the first `PREFIX_BYTES` of a container of ``size`` bytes.

    Raises:
        CorruptFileError: it is not a container, has a later version, or is shorter than its header.
    """
    if len(prefix) < PREFIX_BYTES:
        raise CorruptFileError("the file index is cut off", path=path)
    magic, version, length = _START.unpack_from(prefix)
    if magic != _MAGIC:
        raise CorruptFileError("is not a file index", path=path)
    if version != _VERSION:
        raise CorruptFileError(f"file index of version {version}, but only {_VERSION} can be read", path=path)
    if not PREFIX_BYTES <= length <= size:
        raise CorruptFileError(f"the header of the file index takes {length} bytes of {size}", path=path)
    return int(length)


def read_header(data: bytes, path: str, size: int | None = None) -> list[IndexLocation]:
    """Decode the locations of the indexes.

    Args:
        data: the container, or at least its header.
        path: the file that holds it, for error messages.
        size: the length of the container; that of ``data`` by default.

    Raises:
        CorruptFileError: the bytes are not a container.
    """
    size = len(data) if size is None else size
    length = header_length(data, size, path)
    found = []
    try:
        (columns,) = _INT.unpack_from(data, PREFIX_BYTES)
        at = PREFIX_BYTES + _INT.size
        for _ in range(columns):
            column, at = _name(data, at)
            (kinds,) = _INT.unpack_from(data, at)
            at += _INT.size
            for _ in range(kinds):
                kind, at = _name(data, at)
                found.append(IndexLocation(column, kind, *_LOCATION.unpack_from(data, at)))
                at += _LOCATION.size
                if not found[-1].is_empty:
                    check_range(found[-1].start, found[-1].length, size, f"the {kind} index of column {column!r}")
    except (struct.error, ValueError) as error:
        raise CorruptFileError(f"the header of the file index is corrupt: {error}", path=path) from error
    if at > length:
        raise CorruptFileError("the header of the file index is longer than declared", path=path)
    return found


def _utf(name: str) -> bytes:
    """Encode a name like Java's ``DataOutput.writeUTF``: its length, then each UTF-16 unit separately."""
    units = memoryview(name.encode("utf-16-be", "surrogatepass")).cast("B")
    text = "".join(chr(units[i] << 8 | units[i + 1]) for i in range(0, len(units), 2))
    encoded = text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    return _LENGTH.pack(len(encoded)) + encoded


def _name(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, at)
    start, end = at + _LENGTH.size, at + _LENGTH.size + length
    if end > len(data):
        raise ValueError("it is cut off")
    units = data[start:end].replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be"), end

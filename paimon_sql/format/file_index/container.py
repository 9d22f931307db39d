"""The container of a data file's indexes: a header that says where each index stands, and their bytes behind it.

Source: Paimon's specification of file indexes. Numbers are big-endian, names are in Java's modified UTF-8:

- magic number (8 bytes), version (4), length of the header (4), number of columns (4);
- for each column its name, the number of its indexes (4), and for each of them its kind, start (4) and length (4);
- the length of what later versions may add (4), which is 0.

An index that starts at -1 is of a file without rows for it. A map's key is named as ``column[key]``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.bytes.bounded import check_range

PREFIX_BYTES = 16
"""How many bytes tell the length of the header."""

_MAGIC = 1493475289347502
_VERSION = 1
_EMPTY = -1
_START = struct.Struct(">qii")
_PLACE = struct.Struct(">ii")
_INT = struct.Struct(">i")
_LENGTH = struct.Struct(">H")


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """Where one index stands in its container; it has no bytes if it is empty."""

    column: str
    kind: str
    start: int
    length: int

    @property
    def is_empty(self) -> bool:
        """Whether the file has no rows for the index."""
        return self.start == _EMPTY


def write_container(indexes: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """The bytes of a container.

    Args:
        indexes: by column and kind the bytes of each index; None for an empty one.
    """
    named = [(_utf(column), [(_utf(kind), body) for kind, body in kinds.items()]) for column, kinds in indexes.items()]
    size = PREFIX_BYTES + 2 * _INT.size
    size += sum(len(c) + _INT.size + sum(len(k) + _PLACE.size for k, _ in kinds) for c, kinds in named)
    head, bodies, at = bytearray(_INT.pack(len(named))), [], size
    for column, kinds in named:
        head += column + _INT.pack(len(kinds))
        for kind, body in kinds:
            head += kind + (_PLACE.pack(_EMPTY, 0) if body is None else _PLACE.pack(at, len(body)))
            bodies.append(body or b"")
            at += len(bodies[-1])
    return b"".join([_START.pack(_MAGIC, _VERSION, size), head, _INT.pack(0), *bodies])


def header_length(prefix: bytes, size: int, path: str) -> int:
    """How many bytes the header has, told by the first `PREFIX_BYTES` of a container of ``size`` bytes.

    Raises:
        CorruptFileError: it is no container, one of a later version, or shorter than its header.
    """
    if len(prefix) < PREFIX_BYTES:
        raise CorruptFileError("the file index is cut off", path=path)
    magic, version, length = _START.unpack_from(prefix)
    if magic != _MAGIC:
        raise CorruptFileError("is no file index", path=path)
    if version != _VERSION:
        raise CorruptFileError(f"file index of version {version}, and only {_VERSION} can be read", path=path)
    if not PREFIX_BYTES <= length <= size:
        raise CorruptFileError(f"the header of the file index takes {length} bytes of {size}", path=path)
    return int(length)


def read_header(data: bytes, path: str, size: int | None = None) -> list[IndexLocation]:
    """Where the indexes stand.

    Args:
        data: the container, or its header at least.
        path: what holds it, for messages.
        size: the bytes of the container; those of ``data`` by default.

    Raises:
        CorruptFileError: the bytes are no container.
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
                found.append(IndexLocation(column, kind, *_PLACE.unpack_from(data, at)))
                at += _PLACE.size
                if not found[-1].is_empty:
                    check_range(found[-1].start, found[-1].length, size, f"the {kind} index of column {column!r}")
    except (struct.error, ValueError) as error:
        raise CorruptFileError(f"the header of the file index is broken: {error}", path=path) from error
    if at > length:
        raise CorruptFileError("the header of the file index is longer than it says", path=path)
    return found


def _utf(name: str) -> bytes:
    """A name as Java's ``writeUTF`` writes it: its length, and each UTF-16 unit for itself."""
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

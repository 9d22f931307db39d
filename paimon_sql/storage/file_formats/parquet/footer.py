"""Rewriting of Parquet metadata: INT96 columns declared as 12 fixed bytes, or back.

Arrow writes INT96 for all timestamps of a file or for none, and reads it without overflow checks. As 12 bytes it is
passed through unchanged (spec: Apache Parquet, "FileMetaData").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_sql.format.bytes.bounded import check_range
from paimon_sql.storage.file_formats.parquet.thrift import Struct, decode, encode

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

"""Blob references: descriptors (location in a file) and views (row of another table).

Both begin with a version and eight magic letters; numbers are little-endian (spec: Blob File, descriptors and views).
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.memory import Longs, binary_array

_DESCRIPTOR = b"CSEDBOLB"
_VIEW = b"WEIVBOLB"
_DESCRIPTOR_HEAD = b"\x02" + _DESCRIPTOR
_VIEW_HEAD = b"\x01" + _VIEW
_SIZE = struct.Struct("<i")
_RANGE = struct.Struct("<qq")
_ROW = struct.Struct("<iq")
_HEAD_BYTES = len(_DESCRIPTOR_HEAD)
TO_THE_END = -1
"""The length of a blob that ends at the end of its file."""


def _named(head: bytes, name: str) -> bytes:
    data = name.encode()
    return head + _SIZE.pack(len(data)) + data


def is_descriptor(head: bytes | memoryview) -> bool:
    """Whether bytes that begin with ``head`` are a descriptor."""
    return head[:_HEAD_BYTES] == _DESCRIPTOR_HEAD


def is_view(head: bytes | memoryview) -> bool:
    """Whether bytes that begin with ``head`` are a view."""
    return head[:_HEAD_BYTES] == _VIEW_HEAD


@dataclass(frozen=True, slots=True)
class BlobDescriptor:
    """Location of a blob: ``length`` bytes of a file from ``offset`` on, or `TO_THE_END`."""

    uri: str
    offset: int = 0
    length: int = TO_THE_END

    def encode(self) -> bytes:
        """The bytes that are stored."""
        return _named(_DESCRIPTOR_HEAD, self.uri) + _RANGE.pack(self.offset, self.length)

    def __str__(self) -> str:
        return f"BlobDescriptor{{version=2, uri='{self.uri}', offset={self.offset}, length={self.length}}}"


@dataclass(frozen=True, slots=True)
class BlobView:
    """A blob of another table, by field id and row id; ``table`` is ``db.t``."""

    table: str
    field_id: int
    row_id: int

    def encode(self) -> bytes:
        """The bytes that are stored."""
        return _named(_VIEW_HEAD, self.table) + _ROW.pack(self.field_id, self.row_id)


def are_descriptors(values: pa.Array) -> pa.BooleanArray:
    """The mask of values that are descriptors; null for null."""
    return pc.starts_with(values, pattern=_DESCRIPTOR_HEAD)


def are_views(values: pa.Array) -> pa.BooleanArray:
    """The mask of values that are views; null for null."""
    return pc.starts_with(values, pattern=_VIEW_HEAD)


def decode_descriptor(data: bytes) -> BlobDescriptor:
    """Decode a descriptor, also one of version 1, which lacks the magic letters.

    Raises:
        InvalidInputError: the bytes are not a descriptor.
    """
    head = b"\x01" if data[:1] == b"\x01" else _DESCRIPTOR_HEAD
    return BlobDescriptor(*_members(data, head, _RANGE, "descriptor"))


def decode_view(data: bytes) -> BlobView:
    """Decode a view.

    Raises:
        InvalidInputError: the bytes are not a view.
    """
    return BlobView(*_members(data, _VIEW_HEAD, _ROW, "view"))


def descriptors(uri: str, offsets: Longs, lengths: Longs) -> pa.Array:
    """Encode the descriptors of blobs of one file."""
    return _with_head(_named(_DESCRIPTOR_HEAD, uri), np.stack([offsets, lengths], axis=1))


def views(table: str, field_id: int, row_ids: pa.Array) -> pa.Array:
    """Encode the views of one table's rows; null for a null row id."""
    head = _named(_VIEW_HEAD, table) + struct.pack("<i", field_id)
    encoded = _with_head(head, row_ids.fill_null(0).to_numpy().reshape(-1, 1))
    return pc.if_else(row_ids.is_valid(), encoded, None) if row_ids.null_count else encoded


def _with_head(head: bytes, numbers: Longs) -> pa.Array:
    """The same bytes followed by the numbers of each row."""
    count, start = len(numbers), len(head)
    rows = np.empty((count, start + 8 * numbers.shape[1]), dtype=np.uint8)
    rows[:, :start] = np.frombuffer(head, np.uint8)
    rows[:, start:] = numbers.astype("<i8").view(np.uint8)
    return binary_array(rows.ravel(), np.arange(count + 1) * rows.shape[1])


def _members(data: bytes, head: bytes, tail: struct.Struct, what: str) -> tuple[str, int, int]:
    """Decode what follows a head: a string, preceded by its length, and two numbers."""
    at = len(head) + _SIZE.size
    if data.startswith(head) and len(data) >= at + tail.size:
        (size,) = _SIZE.unpack_from(data, len(head))
        if 0 <= size <= len(data) - at - tail.size:
            first, second = tail.unpack_from(data, at + size)
            with suppress(UnicodeDecodeError):
                return data[at : at + size].decode(), first, second
    raise _wrong(what, data)


def _wrong(what: str, data: bytes) -> InvalidInputError:
    shown = data[:16].hex() + ("…" if len(data) > 16 else "")
    function = "sys.path_to_descriptor(path)" if what == "descriptor" else "sys.blob_view(table, column, row_id)"
    return InvalidInputError(f"X'{shown}' is not a blob {what}.", remedy=f"Create one with {function}.")

"""Elements of blob files: a record is a blob, an array of blobs or a map with blob values (spec: Blob File).

A blob is its bytes. An array begins with a magic number, a version and the number of its blobs; then follow their
bytes, their lengths, and the size of these lengths. A map has the bytes of its keys before those of its blobs, and both
lengths after them. A length of -1 is null.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, InvalidInputError, UnsupportedError
from paimon_sql.format.bytes.bounded import BoundsError, check_total
from paimon_sql.format.bytes.memory import Longs, binary_array, binary_buffers, offsets_of
from paimon_sql.format.bytes.varints import decode_deltas, encode_deltas
from paimon_sql.format.global_index.keys import IndexKeys
from paimon_sql.format.rows.blob_reference import descriptors
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

_HEADER = struct.Struct("<IBi")
_SIZE = struct.Struct("<i")
_VERSION = 1
_NULL = -1
_KEYS = (t.BooleanType, *t.INTEGERS, t.DateType, t.TimeType, t.DecimalType, *t.TEXTS, *t.BYTES)


class BlobSink(Protocol):
    """Receives the content of a record."""

    def put(self, data: bytes | memoryview) -> None:
        """Append bytes."""

    def blob(self, data: memoryview) -> int | None:
        """Append a blob, or the blob that a descriptor refers to; return its length, None for null."""


class BlobElement(ABC):
    """One kind of record."""

    @staticmethod
    def of(data_type: t.DataType) -> BlobElement:
        """Return the kind of record of a column.

        Raises:
            UnsupportedError: blob files do not support the type.
        """
        match data_type:
            case t.BlobType():
                return _One()
            case t.ArrayType() if isinstance(data_type.element, t.BlobType):
                return _Array()
            case t.MapType() if isinstance(data_type.value, t.BlobType) and isinstance(data_type.key, _KEYS):
                return _Map(data_type)
        raise UnsupportedError(
            f"A blob file holds a column of type BLOB, ARRAY<BLOB> or MAP<.., BLOB>, not {data_type.sql()}."
        )

    @abstractmethod
    def read(self, file: ByteRanges, starts: Longs, sizes: Longs, uri: str | None) -> pa.Array:
        """Read the values of records.

        Args:
            file: the file.
            starts: start of each record's content.
            sizes: its size in bytes.
            uri: the file's URI in descriptors, which are returned instead of bytes; None returns bytes.

        Raises:
            CorruptFileError: a record is invalid.
        """

    @abstractmethod
    def pieces(self, column: pa.Array) -> Iterator[_Record | None]:
        """Yield a function per value that puts it into a record; None for null."""


_Record: TypeAlias = Callable[[BlobSink], bool]
"""Puts a value into a sink; False if it is null after all, and nothing was put."""


class _One(BlobElement):
    def read(self, file: ByteRanges, starts: Longs, sizes: Longs, uri: str | None) -> pa.Array:
        return _blobs(file, starts, sizes, uri)

    def pieces(self, column: pa.Array) -> Iterator[_Record | None]:
        for data in _views(column):
            yield None if data is None else partial(_put_one, data)


def _put_one(data: memoryview, sink: BlobSink) -> bool:
    return sink.blob(data) is not None


class _Array(BlobElement):
    magic = 1094861634

    def read(self, file: ByteRanges, starts: Longs, sizes: Longs, uri: str | None) -> pa.Array:
        counts, begin, (lengths,) = _index(file, starts, sizes, self.magic, 1)
        blobs, ends = _read_elements(file, starts + _HEADER.size, lengths, counts, uri)
        _check(ends, begin, file.path)
        return pa.ListArray.from_arrays(_offsets(counts), blobs)

    def pieces(self, column: pa.Array) -> Iterator[_Record | None]:
        flat = list(_views(column.values))
        for low, high in _bounds(column):
            yield None if high < 0 else partial(_put_array, flat[low:high])


def _put_array(blobs: list[memoryview | None], sink: BlobSink) -> bool:
    sink.put(_HEADER.pack(_Array.magic, _VERSION, len(blobs)))
    lengths = encode_deltas(_put_all(sink, blobs))
    sink.put(lengths + _SIZE.pack(len(lengths)))
    return True


class _Map(BlobElement):
    magic = 0x4D424342

    def __init__(self, data_type: t.MapType) -> None:
        self._type = data_type
        self._plain = isinstance(data_type.key, t.BinaryType | t.VarBinaryType)
        self._keys = IndexKeys(data_type.key)

    def read(self, file: ByteRanges, starts: Longs, sizes: Longs, uri: str | None) -> pa.Array:
        counts, begin, (keys, values) = _index(file, starts, sizes, self.magic, 2)
        if (keys == _NULL).any():
            raise UnsupportedError(f"{file.path}: a map has a null among its keys, which cannot be read.")
        names, ends = _read_elements(file, starts + _HEADER.size, keys, counts, None)
        blobs, ends = _read_elements(file, ends, values, counts, uri)
        _check(ends, begin, file.path)
        try:
            keys_array = names if self._plain else self._values(self._keys.decoded(names.cast(pa.large_binary())))
        except (ValueError, pa.ArrowInvalid) as error:
            raise CorruptFileError(f"is a corrupt blob file: {error}", path=file.path) from error
        return pa.MapArray.from_arrays(_offsets(counts), keys_array, blobs)

    def _values(self, keys: pa.Array) -> pa.Array:
        target = arrow_type(self._type.key)
        if pa.types.is_decimal(target) and pa.types.is_integer(keys.type):
            words = np.stack([keys.to_numpy(), keys.to_numpy() >> 63], axis=1).astype("<i8")
            return pa.Array.from_buffers(target, len(keys), [None, pa.py_buffer(words)])
        if pa.types.is_date32(target) or pa.types.is_time32(target):
            return keys.cast(pa.int32()).view(target)
        return keys.cast(target)

    def pieces(self, column: pa.Array) -> Iterator[_Record | None]:
        keys = column.keys if self._plain else self._keys.encoded(self._keys.ordered(column.keys)).cast(pa.binary())
        names = list(_views(keys))
        blobs = list(_views(column.items))
        for low, high in _bounds(column):
            yield None if high < 0 else partial(_put_map, names[low:high], blobs[low:high])


def _put_map(keys: list[memoryview | None], blobs: list[memoryview | None], sink: BlobSink) -> bool:
    if len({bytes(k) for k in keys if k is not None}) < len(keys):
        raise InvalidInputError("A map of blobs has the same key twice, or a null among its keys.")
    sink.put(_HEADER.pack(_Map.magic, _VERSION, len(blobs)))
    for key in keys:
        sink.put(key or b"")
    names = encode_deltas(np.array([len(k or b"") for k in keys], dtype=np.int64))
    lengths = encode_deltas(_put_all(sink, blobs))
    sink.put(names + lengths + _SIZE.pack(len(names)) + _SIZE.pack(len(lengths)))
    return True


def _put_all(sink: BlobSink, blobs: list[memoryview | None]) -> Longs:
    lengths = (None if b is None else sink.blob(b) for b in blobs)
    return np.array([_NULL if n is None else n for n in lengths], dtype=np.int64)


def _views(values: pa.Array) -> Iterator[memoryview | None]:
    """Yield a view of the bytes of each value, None for null."""
    data, offsets = binary_buffers(values)
    content = data.data
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    for (begin, end), is_valid in zip(pairwise(offsets.tolist()), valid, strict=True):
        yield content[begin:end] if is_valid else None


def _bounds(column: pa.Array) -> Iterator[tuple[int, int]]:
    """Yield the range of elements of each list or map; (-1, -1) for null."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    for bounds, is_valid in zip(pairwise(column.offsets.to_pylist()), valid, strict=True):
        yield bounds if is_valid else (-1, -1)


def _index(file: ByteRanges, starts: Longs, sizes: Longs, magic: int, parts: int) -> tuple[Longs, Longs, list[Longs]]:
    """Read the number of elements per record, where its index begins, and the lengths of each part of all elements."""
    bad = CorruptFileError("is a corrupt blob file: an array or map does not match its index", path=file.path)
    tail = _SIZE.size * parts
    if (sizes < _HEADER.size + tail).any():
        raise bad
    heads = _rows(file.joined(starts, np.full(len(starts), _HEADER.size)), _HEADER.size)
    counts = heads[:, 5:9].copy().view("<i4")[:, 0].astype(np.int64)
    if (heads[:, :4].copy().view("<u4") != magic).any() or (heads[:, 4] != _VERSION).any() or (counts < 0).any():
        raise bad
    ends = starts + sizes - tail
    stored = _rows(file.joined(ends, np.full(len(starts), tail)), tail).copy().view("<i4").astype(np.int64)
    if (stored < 0).any() or (stored.sum(axis=1) > sizes - _HEADER.size - tail).any():
        raise bad
    found = []
    first = begin = ends - stored.sum(axis=1)
    for part in range(parts):
        try:
            lengths, stored_counts = decode_deltas(file.joined(begin, stored[:, part]), stored[:, part])
        except ValueError:
            raise bad from None
        if (stored_counts != counts).any() or (lengths < _NULL).any():
            raise bad
        found.append(lengths)
        begin = begin + stored[:, part]
    return counts, first, found


def _rows(data: bytes, width: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, width)


def _read_elements(
    file: ByteRanges, starts: Longs, lengths: Longs, counts: Longs, uri: str | None
) -> tuple[pa.Array, Longs]:
    """Read the consecutive elements of each record from a position; return them and their ends."""
    sizes = np.maximum(lengths, 0)
    try:
        check_total(sizes, file.size, "elements")
    except BoundsError as error:
        raise CorruptFileError(f"is a corrupt blob file: {error}", path=file.path) from error
    sums = np.append(0, np.cumsum(sizes))
    heads = np.cumsum(counts) - counts
    firsts = sums[heads]
    begin = sums[:-1] - np.repeat(firsts, counts) + np.repeat(starts, counts)
    ends = starts + sums[heads + counts] - firsts
    if len(ends) and int(ends.max()) > file.size:
        raise CorruptFileError("is a corrupt blob file: an array or map is longer than the file", path=file.path)
    is_valid = lengths != _NULL
    blobs = _blobs(file, begin[is_valid], sizes[is_valid], uri)
    return (blobs if is_valid.all() else spread(blobs, is_valid)), ends


def _check(ends: Longs, begin: Longs, path: str) -> None:
    if (ends != begin).any():
        raise CorruptFileError("is a corrupt blob file: the lengths in an array or map do not fit it", path=path)


def spread(values: pa.Array, valid: npt.NDArray[np.bool_]) -> pa.Array:
    """Put values at the valid positions, nulls at all others."""
    index = np.cumsum(valid) - 1
    return (
        values.take(pa.array(np.maximum(index, 0), mask=~valid)) if len(values) else pa.nulls(len(valid), values.type)
    )


def _offsets(counts: Longs) -> pa.Array:
    return pa.array(np.append(0, np.cumsum(counts)), pa.int32())


def _blobs(file: ByteRanges, starts: Longs, sizes: Longs, uri: str | None) -> pa.Array:
    return file.values(starts, sizes) if uri is None else descriptors(uri, starts, sizes)


VERSION = 1
MAGIC = bytes.fromhex("cf114e58")
AHEAD, BEHIND = 4, 12
"""Bytes of a record before and after its content."""
LENGTH, CHECKSUM = struct.Struct("<q"), struct.Struct("<I")
FOOTER = struct.Struct("<iB")
NULL, ELSEWHERE = -1, -2
"""Lengths that mark a null, and a value that an older file stores."""


_MAX_GAP = 64 * 1024
"""Maximum bytes between two ranges that are read along instead of skipped."""
_LARGE = 64 * 1024
"""Average size from which ranges are read one by one, directly into the result."""
_MAX_BYTES = 2**31 - 1


@dataclass(frozen=True)
class ByteRanges:
    """An open file.

    Attributes:
        source: the file.
        path: its path.
        size: its size in bytes.
    """

    source: pa.NativeFile
    path: str
    size: int

    def values(self, starts: Longs, sizes: Longs) -> pa.Array:
        """Return each range as a binary value.

        Args:
            starts: start of each range, ascending, without overlaps.
            sizes: size of each range in bytes.

        Raises:
            UnsupportedError: they exceed the size of an array.
            CorruptFileError: the file is too short.
        """
        total = int(sizes.sum())
        if total > _MAX_BYTES:
            raise UnsupportedError(
                f"{self.path}: a blob of {int(sizes.max())} bytes exceeds the maximum size of a value.",
                remedy="Read its descriptor with the option 'blob-as-descriptor' = 'true'.",
            )
        return binary_array(self._joined(starts, sizes, total), offsets_of(sizes))

    def joined(self, starts: Longs, sizes: Longs) -> bytes:
        """Return the concatenated bytes of all ranges."""
        return self._joined(starts, sizes, int(sizes.sum())).tobytes()

    def _joined(self, starts: Longs, sizes: Longs, total: int) -> npt.NDArray[np.uint8]:
        if len(starts) and not 0 <= starts.min() <= (starts + sizes).max() <= self.size:
            raise CorruptFileError("ends before a blob in its index", path=self.path)
        result = np.empty(total, dtype=np.uint8)
        if not total:
            return result
        filled = np.flatnonzero(sizes)
        starts, sizes = starts[filled], sizes[filled]
        ends = starts + sizes
        # Gaps are read along only if ranges are small, so that they stay a small part.
        max_gap = _MAX_GAP if total < _LARGE * len(sizes) else 0
        heads = np.flatnonzero(np.append(True, starts[1:] - ends[:-1] > max_gap))
        tails = np.append(heads[1:], len(starts)) - 1
        positions = np.cumsum(sizes) - sizes
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            begin, length = int(starts[head]), int(ends[tail] - starts[head])
            wanted = int(sizes[head : tail + 1].sum())
            at = int(positions[head])
            if wanted == length:
                self._read_into(begin, result[at : at + length])
                continue
            span = np.empty(length, dtype=np.uint8)
            self._read_into(begin, span)
            marks = np.zeros(length + 1, dtype=np.int8)
            np.add.at(marks, starts[head : tail + 1] - begin, 1)
            np.add.at(marks, ends[head : tail + 1] - begin, -1)
            result[at : at + wanted] = span[np.cumsum(marks[:-1], dtype=np.int8).astype(bool)]
        return result

    def _read_into(self, begin: int, target: npt.NDArray[np.uint8]) -> None:
        self.source.seek(begin)
        buffer = memoryview(target.data)
        done = 0
        while done < len(buffer):
            count = self.source.readinto(buffer[done:])
            if not count:
                raise CorruptFileError("ends before a blob in its index", path=self.path)
            done += count

"""Files of blobs: one column, each value behind the other, and at the end how long they are (spec: Blob File).

A value stands between a magic number and its length with a checksum. The index at the end holds the length of each
record, as differences in variable-length numbers; a null takes no place. Such files stand beside data files that hold
the other columns; they are read here and not written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format import types as t
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.refusals import refusals
from paimon_sql.storage.files.base import DataFileWriter, FileFormat, FileRead
from paimon_sql.storage.files.settings import WriteSettings

_VERSION = 1
_MAGIC = np.frombuffer(bytes.fromhex("cf114e58"), dtype=np.uint8)
_AHEAD, _BEHIND = 4, 12
"""The bytes of a record before and behind its value."""
_FOOTER = struct.Struct("<iB")
_NULL, _ELSEWHERE = -1, -2
_BATCH_BYTES = 16 * 1024 * 1024
_MOST_BYTES = 2**31 - 1

_Numbers = npt.NDArray[np.int64]


class BlobFormat(FileFormat):
    """Files of blobs, as Apache Paimon writes them for columns of type BLOB."""

    name = "blob"
    is_general: ClassVar[bool] = False

    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        return _read(file_io, wanted)

    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        raise UnsupportedError(f"{path}: files of blobs cannot be written yet.")

    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        if len(fields) != 1 or not isinstance(fields[0].type, t.BlobType):
            told = ", ".join(f"{f.name} {f.type.sql()}" for f in fields)
            raise UnsupportedError(f"A file of blobs holds one column of type BLOB, and cannot be read as {told} yet.")


def _read(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    BlobFormat().check_fields(wanted.fields)
    with refusals("read", wanted.path), file_io.open_input(wanted.path) as source:
        lengths = _lengths(source, wanted.path)
        taken = np.maximum(lengths, 0)
        ends = np.cumsum(taken)
        for low, high in wanted.row_ranges if wanted.row_ranges is not None else [(0, len(lengths))]:
            at = max(low, 0)
            while at < min(high, len(lengths)):
                begin = int(ends[at] - taken[at])
                upto = int(np.searchsorted(ends, begin + _BATCH_BYTES, side="right"))
                stop = min(max(upto, at + 1), at + wanted.batch_rows, high, len(lengths))
                source.seek(begin)
                data = source.read(int(ends[stop - 1]) - begin)
                values = _values(data, lengths[at:stop], wanted.path)
                yield at, pa.RecordBatch.from_arrays([values] * len(wanted.columns), schema=wanted.schema)
                at = stop


def _lengths(source: pa.NativeFile, path: str) -> _Numbers:
    """The length of each record; negative for what takes no place."""
    size = source.size()
    if size >= _FOOTER.size:
        source.seek(size - _FOOTER.size)
        index_size, version = _FOOTER.unpack(source.read(_FOOTER.size))
        if version != _VERSION:
            raise CorruptFileError(f"is of version {version} of blob files, which is not known", path=path)
        begin = size - _FOOTER.size - index_size
        if index_size >= 0 and begin >= 0:
            source.seek(begin)
            lengths = _decoded(source.read(index_size), path)
            if int(np.maximum(lengths, 0).sum()) == begin and not np.any((lengths >= 0) & (lengths < _AHEAD + _BEHIND)):
                return lengths
    raise CorruptFileError("is no file of blobs, or is damaged: its index does not fit its size", path=path)


def _decoded(data: bytes, path: str) -> _Numbers:
    """Numbers whose differences were written with seven bits a byte, the lowest first, signs in the last bit."""
    octets = np.frombuffer(data, dtype=np.uint8)
    last = np.flatnonzero(octets < 0x80)
    if not len(octets):
        return np.zeros(0, dtype=np.int64)
    if not len(last) or last[-1] != len(octets) - 1:
        raise CorruptFileError("is a damaged file of blobs: its index breaks off", path=path)
    starts = np.append(0, last[:-1] + 1)
    shifts = (np.arange(len(octets)) - np.repeat(starts, last - starts + 1)).astype(np.uint64) * np.uint64(7)
    raw = np.add.reduceat((octets & 0x7F).astype(np.uint64) << shifts, starts)
    differences = (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)
    return np.cumsum(differences)


def _values(data: bytes, lengths: _Numbers, path: str) -> pa.Array:
    """The values of records that follow one another."""
    if np.any(lengths == _ELSEWHERE):
        raise UnsupportedError(f"{path}: some blobs are those of older files, which cannot be read yet.")
    there = np.flatnonzero(lengths != _NULL)
    sizes = lengths[there]
    starts = np.cumsum(sizes) - sizes
    if len(data) > _MOST_BYTES:
        raise UnsupportedError(f"{path}: a blob of {len(data)} bytes is more than a value can hold here.")
    octets = np.frombuffer(data, dtype=np.uint8)
    if len(octets) != int(sizes.sum()) or not (octets[starts[:, None] + np.arange(_AHEAD)] == _MAGIC).all():
        raise CorruptFileError("is a damaged file of blobs: a record does not begin where the index says", path=path)
    # Between two values stand their frames: as every other element they are passed over.
    bounds = np.empty(2 * len(there), dtype=np.int32)
    bounds[::2], bounds[1::2] = starts + _AHEAD, starts + sizes - _BEHIND
    if not len(there):
        return pa.nulls(len(lengths), pa.binary())
    framed = pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    places = np.zeros(len(lengths), dtype=np.int64)
    places[there] = 2 * np.arange(len(there))
    return framed.take(pa.array(places, mask=lengths == _NULL))

"""Files of blobs: one column, each value behind the other, and at the end how long they are (spec: Blob File).

A value stands between a magic number and its length with a checksum. The index at the end holds the length of each
record, as differences in variable-length numbers; a null takes no place, nor does a value that an older file holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.bytes.bounded import check_total
from paimon_sql.format.bytes.delta_varint import decoded
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import DataFileWriter, FileFormat, FileRead
from paimon_sql.storage.file_formats.blob.byte_ranges import ByteRanges
from paimon_sql.storage.file_formats.blob.elements import BlobElement, spread
from paimon_sql.storage.file_formats.blob.layout import AHEAD, BEHIND, ELSEWHERE, FOOTER, MAGIC, VERSION
from paimon_sql.storage.file_formats.blob.writer import BlobWriter
from paimon_sql.storage.file_formats.settings import WriteSettings
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import refusals

WINDOW_BYTES = 16 * 1024 * 1024
"""About how many bytes of blobs are read at a time, if it is more than one."""

_Numbers = npt.NDArray[np.int64]


class BlobFormat(FileFormat):
    """Files of blobs, as Apache Paimon writes them for columns of type BLOB, ARRAY<BLOB> and MAP<.., BLOB>."""

    name = "blob"
    is_general: ClassVar[bool] = False

    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        return _read(file_io, wanted)

    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        self.check_fields(fields)
        return BlobWriter(file_io, path, fields[0])

    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        if len(fields) != 1:
            told = ", ".join(f"{f.name} {f.type.sql()}" for f in fields)
            raise UnsupportedError(f"A file of blobs holds one column of blobs, and not {told}.")
        BlobElement.of(fields[0].type)


@dataclass(frozen=True)
class BlobFile:
    """A file of blobs whose index has been read.

    Attributes:
        path: the file.
        field: its column.
        lengths: the length of each record with its frame; `NULL` and `ELSEWHERE` for what takes no place.
    """

    path: str
    field: t.DataField
    lengths: _Numbers

    @classmethod
    def open(cls, source: pa.NativeFile, path: str, field: t.DataField) -> BlobFile:
        """Read the index.

        Raises:
            CorruptFileError: it is no file of blobs, or damaged.
        """
        return cls(path, field, _lengths(source, path))

    @property
    def sizes(self) -> _Numbers:
        """How many bytes each record takes."""
        return np.maximum(self.lengths, 0)

    def take(self, source: pa.NativeFile, rows: _Numbers, uri: str | None = None) -> pa.Array:
        """The values of some rows; null also where an older file holds the value.

        Args:
            source: the file, open.
            rows: their places, in ascending order.
            uri: asks for descriptors of the blobs, which call the file so.
        """
        sizes = self.sizes
        begin = (np.cumsum(sizes) - sizes)[rows]
        there = self.lengths[rows] >= 0
        held = ByteRanges(source, self.path, source.size())
        begin, lengths = begin[there], sizes[rows][there]
        if len(begin) and held.joined(begin[:1], np.array([AHEAD])) != MAGIC:
            raise CorruptFileError(
                "is a damaged file of blobs: a record does not begin where it should", path=self.path
            )
        values = BlobElement.of(self.field.type).read(held, begin + AHEAD, lengths - AHEAD - BEHIND, uri)
        return values if there.all() else spread(values, there)


def windows(sizes: _Numbers, low: int, high: int, rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, at least one each, that together hold about as many bytes as are read at a time.

    Args:
        sizes: the bytes of each row.
        low: the first row.
        high: the one behind the last.
        rows: the most rows of a range.
    """
    ends = np.cumsum(sizes)
    at = max(low, 0)
    while at < min(high, len(sizes)):
        upto = int(np.searchsorted(ends, ends[at] - sizes[at] + WINDOW_BYTES, side="right"))
        stop = min(max(upto, at + 1), at + rows, high, len(sizes))
        yield at, stop
        at = stop


def _read(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    BlobFormat().check_fields(wanted.fields)
    with refusals("read", wanted.path), file_io.open_input(wanted.path) as source:
        file = BlobFile.open(source, wanted.path, wanted.fields[0])
        count = len(file.lengths)
        for low, high in wanted.row_ranges if wanted.row_ranges is not None else [(0, count)]:
            for at, stop in windows(file.sizes, low, high, wanted.batch_rows):
                values = file.take(source, np.arange(at, stop))
                yield at, pa.RecordBatch.from_arrays([values] * len(wanted.columns), schema=wanted.schema)


def _lengths(source: pa.NativeFile, path: str) -> _Numbers:
    """The length of each record; negative for what takes no place."""
    size = source.size()
    if size >= FOOTER.size:
        source.seek(size - FOOTER.size)
        index_size, version = FOOTER.unpack(source.read(FOOTER.size))
        if version != VERSION:
            raise CorruptFileError(f"is of version {version} of blob files, which is not known", path=path)
        begin = size - FOOTER.size - index_size
        if index_size >= 0 and begin >= 0:
            source.seek(begin)
            try:
                lengths = decoded(source.read(index_size))
                check_total(np.maximum(lengths, 0), begin, "records")
            except ValueError as error:
                raise CorruptFileError(f"is a damaged file of blobs: {error} in its index", path=path) from error
            odd = (lengths < ELSEWHERE) | ((lengths >= 0) & (lengths < AHEAD + BEHIND))
            if int(np.maximum(lengths, 0).sum()) == begin and not odd.any():
                return lengths
    raise CorruptFileError("is no file of blobs, or is damaged: its index does not fit its size", path=path)

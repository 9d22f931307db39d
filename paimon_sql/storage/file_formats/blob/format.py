"""The blob format: files of one column, with an index of the records' lengths at the end (spec: Blob File).

A value is enclosed by a magic number before it, and its length and checksum after it. The index at the end stores the
length of each record, as varint deltas; a null takes no space, nor does a value that an older file stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.bytes.bounded import check_total
from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.bytes.varints import decode_deltas
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import DataFileWriter, FileFormat, FileRead, WriteSettings
from paimon_sql.storage.file_formats.blob import elements
from paimon_sql.storage.file_formats.blob.writer import BlobWriter
from paimon_sql.storage.file_io.base import FileIO, translate_errors

WINDOW_BYTES = 16 * 1024 * 1024
"""Approximate bytes of blobs to read at a time, if there is more than one."""


class BlobFormat(FileFormat):
    """Blob files, as Apache Paimon writes them for columns of type BLOB, ARRAY<BLOB> and MAP<.., BLOB>."""

    name = "blob"
    is_general: ClassVar[bool] = False

    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        self.check_fields(wanted.fields)
        with translate_errors("read", wanted.path), file_io.open_input(wanted.path) as source:
            file = BlobFile.open(source, wanted.path, wanted.fields[0])
            count = len(file.lengths)
            for low, high in wanted.row_ranges if wanted.row_ranges is not None else [(0, count)]:
                for at, stop in windows(file.sizes, low, high, wanted.batch_rows):
                    values = file.take(source, np.arange(at, stop))
                    yield at, pa.RecordBatch.from_arrays([values] * len(wanted.columns), schema=wanted.schema)

    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        self.check_fields(fields)
        return BlobWriter(file_io, path, fields[0])

    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        if len(fields) != 1:
            columns = ", ".join(f"{f.name} {f.type.sql()}" for f in fields)
            raise UnsupportedError(f"A blob file holds one blob column, not {columns}.")
        elements.BlobElement.of(fields[0].type)


@dataclass(frozen=True)
class BlobFile:
    """A blob file whose index was read.

    Attributes:
        path: the file.
        field: its column.
        lengths: the length of each record including its frame; `NULL` and `ELSEWHERE` for records without content.
    """

    path: str
    field: t.DataField
    lengths: Longs

    @classmethod
    def open(cls, source: pa.NativeFile, path: str, field: t.DataField) -> BlobFile:
        """Read the index.

        Raises:
            CorruptFileError: it is not a blob file, or corrupt.
        """
        return cls(path, field, _lengths(source, path))

    @property
    def sizes(self) -> Longs:
        """The size of each record in bytes."""
        return np.maximum(self.lengths, 0)

    def take(self, source: pa.NativeFile, rows: Longs, uri: str | None = None) -> pa.Array:
        """Return the values of rows; null also if an older file stores the value.

        Args:
            source: the open file.
            rows: their positions, ascending.
            uri: the file's URI for descriptors of the blobs; None returns their bytes.
        """
        sizes = self.sizes
        begin = (np.cumsum(sizes) - sizes)[rows]
        is_here = self.lengths[rows] >= 0
        file = elements.ByteRanges(source, self.path, source.size())
        begin, lengths = begin[is_here], sizes[rows][is_here]
        if len(begin) and file.joined(begin[:1], np.array([elements.AHEAD])) != elements.MAGIC:
            raise CorruptFileError(
                "is a corrupt blob file: a record does not begin at its position in the index", path=self.path
            )
        values = elements.BlobElement.of(self.field.type).read(
            file, begin + elements.AHEAD, lengths - elements.AHEAD - elements.BEHIND, uri
        )
        return values if is_here.all() else elements.spread(values, is_here)


def windows(sizes: Longs, low: int, high: int, rows: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges, each of at least one row and about as many bytes as are read at a time.

    Args:
        sizes: size of each row in bytes.
        low: the first row.
        high: the exclusive end.
        rows: maximum rows per range.
    """
    ends = np.cumsum(sizes)
    at = max(low, 0)
    while at < min(high, len(sizes)):
        upto = int(np.searchsorted(ends, ends[at] - sizes[at] + WINDOW_BYTES, side="right"))
        stop = min(max(upto, at + 1), at + rows, high, len(sizes))
        yield at, stop
        at = stop


def _lengths(source: pa.NativeFile, path: str) -> Longs:
    """Read the length of each record; negative for records without content."""
    size = source.size()
    if size >= elements.FOOTER.size:
        source.seek(size - elements.FOOTER.size)
        index_size, version = elements.FOOTER.unpack(source.read(elements.FOOTER.size))
        if version != elements.VERSION:
            raise CorruptFileError(f"is a blob file of the unknown version {version}", path=path)
        begin = size - elements.FOOTER.size - index_size
        if index_size >= 0 and begin >= 0:
            source.seek(begin)
            try:
                lengths, _ = decode_deltas(source.read(index_size), np.array([index_size]))
                check_total(np.maximum(lengths, 0), begin, "records")
            except ValueError as error:
                raise CorruptFileError(f"is a corrupt blob file: {error} in its index", path=path) from error
            invalid = (lengths < elements.ELSEWHERE) | ((lengths >= 0) & (lengths < elements.AHEAD + elements.BEHIND))
            if int(np.maximum(lengths, 0).sum()) == begin and not invalid.any():
                return lengths
    raise CorruptFileError("is not a blob file, or is corrupt: its index does not match its size", path=path)

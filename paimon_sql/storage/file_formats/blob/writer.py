"""Blob writer: appends values to the file, copied from the location of a descriptor if needed."""

from __future__ import annotations

import sys
import zlib

import numpy as np
import pyarrow as pa

from paimon_sql.format.bytes.varints import encode_deltas
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import StreamWriter, refuse_nulls
from paimon_sql.storage.file_formats.blob import elements
from paimon_sql.storage.file_formats.blob.fetch import BlobFetcher
from paimon_sql.storage.file_io.base import FileIO, translate_errors


class BlobWriter(StreamWriter):
    """A writer of one blob file.

    Each record has its own checksum, so values are written one by one; their bytes are not copied.

    Args:
        file_io: the file system.
        path: the file's final path; its name must be new.
        field: the column.
        fetcher: reads blobs by descriptor; without one all values are blobs, even if they look like descriptors.
    """

    def __init__(self, file_io: FileIO, path: str, field: t.DataField, fetcher: BlobFetcher | None = None) -> None:
        self._field = field
        self._element = elements.BlobElement.of(field.type)
        self._fetcher = fetcher
        self._lengths: list[int] = []
        self._size = 0
        self._crc: int | None = None
        super().__init__(file_io, path)

    @property
    def rows(self) -> int:
        """The number of values, including nulls and those of older files."""
        return len(self._lengths)

    def write(self, batch: pa.RecordBatch) -> None:
        self.append(batch.column(0), sys.maxsize)

    def append(self, column: pa.Array, max_bytes: int) -> int:
        """Append values until the file has at least ``max_bytes``; return how many were taken, at least one if any.

        Raises:
            ConstraintViolationError: a null in a NOT NULL column.
        """
        refuse_nulls(self.path, [column], [self._field])
        taken = 0
        with translate_errors("write", self.path):
            for record in self._element.pieces(column):
                begin = self._size
                if record is None or not record(self):
                    self._lengths.append(elements.NULL)
                else:
                    # The checksum is over the magic number, the content and the length.
                    self.put(elements.LENGTH.pack(self._size - begin + elements.BEHIND))
                    self._emit(elements.CHECKSUM.pack(self._crc or 0))
                    self._lengths.append(self._size - begin)
                    self._crc = None
                taken += 1
                if self._size >= max_bytes:
                    break
        return taken

    def skip(self, rows: int) -> None:
        """Mark rows whose values older files store."""
        self._lengths += [elements.ELSEWHERE] * rows

    def put(self, data: bytes | memoryview) -> None:
        """Append bytes to the current record."""
        if self._crc is None:
            self._crc = zlib.crc32(elements.MAGIC)
            self._emit(elements.MAGIC)
        self._crc = zlib.crc32(data, self._crc)
        self._emit(data)

    def blob(self, data: memoryview) -> int | None:
        """Append a blob, or the blob that a descriptor refers to; return its length, None for null."""
        if self._fetcher is None or not self._fetcher.is_reference(data):
            self.put(data)
            return len(data)
        stream = self._fetcher.open(data)
        if stream is None:
            return None
        self.put(b"")
        begin = self._size
        for piece in stream:
            self.put(piece)
        return self._size - begin

    def _end(self) -> None:
        index = encode_deltas(np.array(self._lengths, dtype=np.int64))
        self._emit(index + elements.FOOTER.pack(len(index), elements.VERSION))

    def close(self) -> int:
        self._close_fetcher()
        return super().close()

    def abort(self) -> None:
        self._close_fetcher()
        super().abort()

    def _close_fetcher(self) -> None:
        if self._fetcher is not None:
            self._fetcher.close()

    def _emit(self, data: bytes | memoryview) -> None:
        self._stream.write(data)
        self._size += len(data)

"""Reading of a blob column from all blob files of a group (spec: Blob File, placeholders).

A newer file may have a placeholder for a row whose value an older file holds. The indexes of the files suffice to find
each row's newest value, so no unwanted blob is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.bytes.bounded import MAX_BLOB_ROWS
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.schema.arrow_types import arrow_field
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.file_formats.base import BATCH_ROWS
from paimon_sql.storage.file_formats.blob.format import BlobFile, windows
from paimon_sql.storage.file_formats.blob.layout import ELSEWHERE
from paimon_sql.storage.file_io.errors import translate_errors
from paimon_sql.storage.table.table import Table

_Numbers = npt.NDArray[np.int64]
_NOWHERE = -1


@dataclass(frozen=True)
class BlobColumn:
    """A blob column of a group of files.

    Attributes:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket's number.
        field: the column.
        first_row_id: the id of the group's first row.
        row_count: the number of rows in the group.
        files: the blob files of the column.
        as_descriptors: whether to return blob descriptors instead of the bytes.
    """

    table: Table
    partition: bytes
    bucket: int
    field: DataField
    first_row_id: int
    row_count: int
    files: tuple[DataFileMeta, ...]
    as_descriptors: bool

    def stretches(self, ranges: Sequence[tuple[int, int]] | None) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The values in row order, each batch with the position of its first row.

        Args:
            ranges: the wanted positions, as sorted ``(first, last + 1)``; None for all.

        Raises:
            CorruptFileError: a file is damaged, or its number of rows is not that of the manifest.
        """
        newest_first = sorted(self.files, key=lambda f: (f.max_sequence_number, f.first_row_id or 0), reverse=True)
        if self.row_count > MAX_BLOB_ROWS:
            path = self.table.locations.data_file(self.partition, self.bucket, newest_first[0])
            raise CorruptFileError(f"is one of {self.row_count} blobs, and {MAX_BLOB_ROWS} can be read", path=path)
        owners = np.full(self.row_count, _NOWHERE, dtype=np.int64)
        sizes = np.zeros(self.row_count, dtype=np.int64)
        with ExitStack() as stack:
            opened: list[_Open] = []
            for meta in newest_first:
                if (owners != _NOWHERE).all():
                    break
                file = self._open(stack, meta)
                rows = slice(file.start, file.start + meta.row_count)
                fresh = (owners[rows] == _NOWHERE) & (file.blobs.lengths != ELSEWHERE)
                owners[rows][fresh] = len(opened)
                sizes[rows][fresh] = file.blobs.sizes[fresh]
                opened.append(file)
            schema = pa.schema([arrow_field(self.field)])
            for low, high in [(0, self.row_count)] if ranges is None else ranges:
                for at, stop in windows(sizes, low, high, BATCH_ROWS):
                    values = self._values(opened, owners[at:stop], at)
                    yield at, pa.RecordBatch.from_arrays([values.cast(schema.field(0).type)], schema=schema)

    def _open(self, stack: ExitStack, meta: DataFileMeta) -> _Open:
        path = self.table.locations.data_file(self.partition, self.bucket, meta)
        with translate_errors("read", path):
            source = stack.enter_context(self.table.file_io.open_input(path))
            blobs = BlobFile.open(source, path, self.field)
        if len(blobs.lengths) != meta.row_count:
            raise CorruptFileError(f"holds {len(blobs.lengths)} blobs and not {meta.row_count}", path=path)
        start = (meta.first_row_id or 0) - self.first_row_id
        if not 0 <= start <= self.row_count - meta.row_count:
            raise CorruptFileError("holds blobs of rows that its group does not have", path=path)
        return _Open(start, blobs, source)

    def _values(self, opened: Sequence[_Open], owners: _Numbers, first: int) -> pa.Array:
        """The values of consecutive rows from ``first`` on, each from the file that ``owners`` names."""
        parts, positions = [], []
        for owner in np.unique(owners).tolist():
            rows = np.flatnonzero(owners == owner)
            if owner == _NOWHERE:
                parts.append(pa.nulls(len(rows), arrow_field(self.field).type))
            else:
                parts.append(opened[owner].take(first + rows, self.as_descriptors))
            positions.append(rows)
        if len(parts) == 1:
            return parts[0]
        order = np.argsort(np.concatenate(positions))
        return pa.concat_arrays([p.cast(parts[0].type) for p in parts]).take(pa.array(order))


@dataclass(frozen=True)
class _Open:
    """An open blob file, with the position of its first row in the group."""

    start: int
    blobs: BlobFile
    source: pa.NativeFile

    def take(self, positions: _Numbers, as_descriptors: bool) -> pa.Array:
        with translate_errors("read", self.blobs.path):
            return self.blobs.take(self.source, positions - self.start, self.blobs.path if as_descriptors else None)

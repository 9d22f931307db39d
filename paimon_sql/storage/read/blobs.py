"""Reading of blobs: of a blob column from all blob files of a group, and of those that rows refer to.

A newer file may have a placeholder for a row whose value an older file holds. The indexes of the files suffice to find
each row's newest value, so no unwanted blob is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, InvalidInputError, NoSuchTableError, PaimonError
from paimon_sql.format.bytes.bounded import MAX_BLOB_ROWS
from paimon_sql.format.layout.paths import is_file_name
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.row_tracking import (
    BLOB_AS_DESCRIPTOR,
    BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED,
    BLOB_VIEW_RESOLVE_ENABLED,
)
from paimon_sql.format.rows.blob_reference import decode_descriptor, decode_view
from paimon_sql.format.schema.arrow_types import arrow_field
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import BlobType, DataField
from paimon_sql.storage.columns.blobs_and_vectors import descriptor_columns, fields_in_blob_files, view_columns
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.file_formats.base import BATCH_ROWS
from paimon_sql.storage.file_formats.blob.elements import ELSEWHERE
from paimon_sql.storage.file_formats.blob.fetch import BlobFetcher
from paimon_sql.storage.file_formats.blob.format import WINDOW_BYTES, BlobFile, windows
from paimon_sql.storage.file_io.base import translate_errors
from paimon_sql.storage.metadata.schemas import SchemaManager
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
            raise CorruptFileError(
                f"is one of {self.row_count} blobs, but at most {MAX_BLOB_ROWS} can be read", path=path
            )
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
            raise CorruptFileError(f"holds {len(blobs.lengths)} blobs instead of {meta.row_count}", path=path)
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


Follow = Callable[[pa.RecordBatch], Iterator[pa.RecordBatch]]
ReadBlobs = Callable[[Table, str, RowIds], Iterator[pa.RecordBatch]]
"""Reads a blob column of a table as descriptors, with ``_ROW_ID``, for some row ids."""

_DATABASE_SUFFIX = ".db"


def reference_resolver(table: Table, columns: Sequence[str], read: ReadBlobs) -> Follow | None:
    """A function that replaces references in a batch by blobs, in batches of bounded size; None if there are none.

    Args:
        table: the table.
        columns: the columns that are read.
        read: reads blobs of other tables.
    """
    options = table.options
    named = descriptor_columns(table.schema) if options.get(BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED) else frozenset()
    viewed = view_columns(table.schema) if options.get(BLOB_VIEW_RESOLVE_ENABLED) else frozenset()
    named, viewed = named & set(columns), viewed & set(columns)
    fetched: frozenset[str] = frozenset() if options.get(BLOB_AS_DESCRIPTOR) else named | viewed
    if not viewed and not fetched:
        return None

    def follow(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        trusted: set[str] = set()
        for name in sorted(viewed):
            batch = _replaced(batch, name, _described(table, batch.column(name), read, trusted))
        if fetched:
            yield from _fetched(BlobFetcher.stored(table, trusted), batch, sorted(fetched))
        else:
            yield batch

    return follow


def _described(table: Table, references: pa.Array, read: ReadBlobs, trusted: set[str]) -> pa.Array:
    """Convert references to other tables' rows to blob descriptors.

    Args:
        table: the table that has the references.
        references: the references.
        read: reads blobs of other tables.
        trusted: receives the blob files of those tables, which may lie outside of the warehouse.

    Raises:
        InvalidInputError: a value is not such a reference.
        PaimonError: the table, its column or the row does not exist.
    """
    distinct = references.dictionary_encode()
    named = [decode_view(value) for value in distinct.dictionary.to_pylist()]
    found: list[bytes | None] = [None] * len(named)
    for source, field_id in sorted({(v.table, v.field_id) for v in named}):
        indexes = [i for i, v in enumerate(named) if (v.table, v.field_id) == (source, field_id)]
        ids = np.array([named[i].row_id for i in indexes], dtype=np.int64)
        blobs = _of_rows(_opened(table, source), field_id, ids, read, trusted)
        for index, blob in zip(indexes, blobs, strict=True):
            found[index] = blob
    return pa.array(found, pa.binary()).take(distinct.indices)


def _of_rows(
    table: Table, field_id: int, ids: npt.NDArray[np.int64], read: ReadBlobs, trusted: set[str]
) -> list[bytes | None]:
    column = next((f for f in table.schema.fields if f.id == field_id), None)
    if column is None or not isinstance(column.type, BlobType):
        raise PaimonError(f"{table.name} has no blob column with the id {field_id}, to which blobs refer.")
    described = table.with_options({BLOB_AS_DESCRIPTOR.key: "true", BLOB_VIEW_RESOLVE_ENABLED.key: "true"})
    batches = list(read(described, column.name, RowIds.of_ranges(ids, ids + 1)))
    known = np.concatenate([b.column(ROW_ID.name).to_numpy() for b in batches]) if batches else np.zeros(0, np.int64)
    missing = np.setdiff1d(ids, known)
    if len(missing):
        raise PaimonError(
            f"{table.name} has no row with the id {missing[0]}, to whose column '{column.name}' a blob refers.",
            remedy="Read with 'blob-view.resolve.enabled' = 'false' to see the references.",
        )
    order = np.argsort(known)
    rows = order[np.searchsorted(known[order], ids)]
    values = pa.chunked_array([b.column(column.name) for b in batches], pa.binary())
    blobs: list[bytes | None] = values.take(pa.array(rows)).to_pylist()
    if column in fields_in_blob_files(table.schema):  # other descriptors were written by users: not to be trusted
        trusted.update({decode_descriptor(blob).uri for blob in blobs if blob is not None})
    return blobs


def _opened(table: Table, source: str) -> Table:
    """Open a table of the same warehouse by its name ``db.t``."""
    database, _, name = source.partition(".")
    if not database or database.startswith(".") or not is_file_name(database) or not is_file_name(name):
        raise InvalidInputError(f"'{source}', to which a blob refers, is not a table name.")
    warehouse = table.path.rsplit("/", 2)[0]
    path = f"{warehouse}/{database}{_DATABASE_SUFFIX}/{name}"
    schema = SchemaManager(table.file_io, path).latest()
    if schema is None:
        raise NoSuchTableError(f"{source}, to which blobs of {table.name} refer, does not exist.", name=source)
    return Table(source, path, table.file_io, schema, access=table.access)


def _fetched(fetcher: BlobFetcher, batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The batch in slices, with descriptors replaced by the bytes that they refer to."""
    stored = [batch.column(name).to_pylist() for name in columns]
    made: list[list[object]] = [[] for _ in columns]
    first = size = 0
    try:
        for row in range(batch.num_rows):
            for values, found in zip(stored, made, strict=True):
                value, length = _content(fetcher, values[row])
                found.append(value)
                size += length
            if size >= WINDOW_BYTES or row + 1 == batch.num_rows:
                piece = batch.slice(first, row + 1 - first)
                for name, found in zip(columns, made, strict=True):
                    piece = _replaced(piece, name, pa.array(found, piece.column(name).type))
                yield piece
                first, size, made = row + 1, 0, [[] for _ in columns]
    finally:
        fetcher.close()


def _content(fetcher: BlobFetcher, value: Any) -> tuple[object, int]:
    """A value with descriptors resolved, also in arrays and maps, and its size in bytes."""
    match value:
        case None:
            return None, 0
        case bytes():
            blob = fetcher.content(decode_descriptor(value))
            return blob, len(blob or b"")
    pairs = isinstance(value[0], tuple) if value else False
    parts = [_content(fetcher, v[1] if pairs else v) for v in value]
    found = [(v[0], blob) if pairs else blob for v, (blob, _) in zip(value, parts, strict=True)]
    return found, sum(length for _, length in parts)


def _replaced(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    index = batch.schema.get_field_index(name)
    return batch.set_column(index, batch.schema.field(index), values)

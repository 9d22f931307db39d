"""Resolution of blob references: rows that store descriptors or views get the blobs when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import InvalidInputError, NoSuchTableError, PaimonError
from paimon_sql.format.layout.file_names import is_file_name
from paimon_sql.format.options.table.row_tracking import (
    BLOB_AS_DESCRIPTOR,
    BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED,
    BLOB_VIEW_RESOLVE_ENABLED,
)
from paimon_sql.format.rows.blob_reference import decode_descriptor, decode_view
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import BlobType
from paimon_sql.storage.columns.blobs import descriptor_columns, fields_in_blob_files, view_columns
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.file_formats.blob.fetch import BlobFetcher
from paimon_sql.storage.file_formats.blob.format import WINDOW_BYTES
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table

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
    asked = table.options.get
    named = descriptor_columns(table.schema) if asked(BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED) else frozenset()
    viewed = view_columns(table.schema) if asked(BLOB_VIEW_RESOLVE_ENABLED) else frozenset()
    named, viewed = named & set(columns), viewed & set(columns)
    fetched = frozenset() if asked(BLOB_AS_DESCRIPTOR) else named | viewed
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
        raise PaimonError(f"{table.name} has no column of blobs with the id {field_id}, to which blobs refer.")
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
        raise InvalidInputError(f"'{source}', to which a blob refers, is no name of a table.")
    warehouse = table.path.rsplit("/", 2)[0]
    path = f"{warehouse}/{database}{_DATABASE_SUFFIX}/{name}"
    schema = SchemaManager(table.file_io, path).latest()
    if schema is None:
        raise NoSuchTableError(f"{source}, to which blobs of {table.name} refer, does not exist.", name=source)
    return Table(source, path, table.file_io, schema, access=table.access)


def _fetched(fetcher: BlobFetcher, batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The batch in slices, with descriptors replaced by the bytes that they refer to."""
    stored = [batch.column(name).to_pylist() for name in columns]
    made: list[list[Any]] = [[] for _ in columns]
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


def _content(fetcher: BlobFetcher, value: Any) -> tuple[Any, int]:
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

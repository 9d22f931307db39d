"""Avro reader: decodes blocks of records in chunks, then converts them to columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from paimon_sql.errors import CorruptFileError, PaimonError
from paimon_sql.format.avro.container import AvroContainer, container_at, without_logical_types
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.storage.file_formats.avro.decode import decode_column
from paimon_sql.storage.file_formats.avro.schema import Schema
from paimon_sql.storage.file_formats.base import FileRead, batch_of, canonical
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import translate_errors

_MAX_RECORDS, _MAX_BYTES = 8192, 2 * 1024 * 1024
"""Limits of what is decoded before it is converted to columns: as Python objects it takes several times more."""
_CHUNK, _REMOTE_CHUNK = 256 * 1024, 8 * 1024 * 1024


def read_avro(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the requested columns of an Avro file as canonical batches, each with its first row's position."""
    with translate_errors("read", wanted.path), file_io.open_input(wanted.path) as source:
        chunk = _REMOTE_CHUNK if file_io.is_object_store(wanted.path) else _CHUNK
        container = container_at(_Chunks(source, chunk).read, source.size(), wanted.path)
        yield from _batches(container, wanted)


def _batches(container: AvroContainer, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    with decoding("an Avro file", wanted.path):
        decoder = _Decoder(container, wanted)
    max_rows = min(wanted.batch_rows, _MAX_RECORDS)
    rows: list[dict[str, Any]] = []
    first = at = size = 0
    for count, block in container.blocks():
        if not wanted.touches(at, count):
            yield from wanted.cut(first, decoder.batch(rows))
            at += count
            rows, first, size = [], at, 0
            continue
        size += len(block)
        for records in decoder.rows(count, block):
            rows += records
            at += len(records)
            if len(rows) >= max_rows or size >= _MAX_BYTES:
                yield from wanted.cut(first, decoder.batch(rows))
                rows, first, size = [], at, 0
    yield from wanted.cut(first, decoder.batch(rows))


class _Chunks:
    """A file read sequentially in chunks, of which one is buffered."""

    def __init__(self, source: pa.NativeFile, size: int) -> None:
        self._source = source
        self._size = size
        self._start = 0
        self._buffer = b""

    def read(self, at: int, size: int) -> bytes:
        """Read bytes from a position, fewer at the end of the file."""
        if not self._start <= at <= at + size <= self._start + len(self._buffer):
            self._start, self._buffer = at, self._source.read_at(max(size, self._size), at)
        return self._buffer[at - self._start : at - self._start + size]


class _Decoder:
    """Decodes blocks of one file. For fastavro, skipping unrequested columns costs as much as reading them."""

    def __init__(self, container: AvroContainer, wanted: FileRead) -> None:
        self._wanted = wanted
        self._container = container
        writer: Schema = load_json(container.schema_text)
        self._stored = {member["name"]: member["type"] for member in writer["fields"]}
        self._schema_text = json.dumps(without_logical_types(writer))

    def rows(self, count: int, block: bytes) -> Iterator[list[dict[str, Any]]]:
        """Yield the records of a block, in several lists for a large one."""
        return self._container.batches([(count, block)], self._schema_text)

    def batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        """Convert records to a canonical batch."""
        columns = []
        for field in self._wanted.wanted:
            try:
                if field.name in self._stored:
                    values = [row[field.name] for row in rows]
                    columns.append(decode_column(values, self._stored[field.name], field.type))
                else:
                    columns.append(canonical(pa.nulls(len(rows)), field, self._wanted.path))
            except (PaimonError, MemoryError):
                raise
            except Exception as error:  # values of another schema fail in many ways
                raise CorruptFileError(
                    f"column '{field.name}' cannot be read as {field.type.sql()}: {error}", path=self._wanted.path
                ) from error
        return batch_of(columns, self._wanted.schema, len(rows))

"""Reading Avro: blocks of records, decoded at once, then turned into columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from paimon_sql.errors import CorruptFileError, PaimonError
from paimon_sql.format.avro import open_container
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.files.avro_decode import decode_column
from paimon_sql.storage.files.avro_schema import Schema, without_logical_types
from paimon_sql.storage.files.avro_varint import zigzag
from paimon_sql.storage.files.base import FileRead, batch_of, canonical


def read_avro(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The wanted columns of an Avro file as canonical batches, each with its first row's position."""
    container = open_container(file_io.read_bytes(wanted.path), wanted.path)
    writer = json.loads(container.schema_text)
    decoder = _Decoder(writer, wanted)
    rows: list[dict[str, Any]] = []
    first = at = 0
    for count, block in container.blocks():
        if wanted.touches(at, count):
            rows += decoder.rows(count, block)
        else:
            yield from wanted.cut(first, decoder.batch(rows))
            rows, first = [], at + count
        at += count
        if len(rows) >= wanted.batch_rows:
            yield from wanted.cut(first, decoder.batch(rows))
            rows, first = [], at
    yield from wanted.cut(first, decoder.batch(rows))


class _Decoder:
    """Decodes blocks of one file. Passing over columns that nobody wants costs fastavro as much as reading them."""

    def __init__(self, writer: Schema, wanted: FileRead) -> None:
        self._wanted = wanted
        self._stored = {member["name"]: member["type"] for member in writer["fields"]}
        # Decoded as an array's items, a block takes one call.
        self._schema = parse_schema({"type": "array", "items": without_logical_types(writer)})

    def rows(self, count: int, block: bytes) -> list[dict[str, Any]]:
        """The records of a block."""
        items = io.BytesIO(zigzag(count) + block + b"\0")
        try:
            decoded: Any = schemaless_reader(items, self._schema, None)
        except Exception as error:  # given garbage, the decoder raises whatever it stumbles over
            raise CorruptFileError(f"a block cannot be decoded: {error!r}", path=self._wanted.path) from error
        return list(decoded)

    def batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        """Records as a canonical batch."""
        columns = []
        for field in self._wanted.wanted:
            try:
                if field.name in self._stored:
                    values = [row[field.name] for row in rows]
                    columns.append(decode_column(values, self._stored[field.name], field.type))
                else:
                    columns.append(canonical(pa.nulls(len(rows)), field, self._wanted.path))
            except PaimonError:
                raise
            except (pa.ArrowException, TypeError, KeyError, ValueError) as error:
                raise CorruptFileError(
                    f"column '{field.name}' cannot be read as {field.type.sql()}: {error}", path=self._wanted.path
                ) from error
        return batch_of(columns, self._wanted.schema, len(rows))

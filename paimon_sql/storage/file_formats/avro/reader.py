"""Avro reader: decodes blocks of records in chunks, then converts them to Arrow arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, PaimonError
from paimon_sql.format.avro.container import AvroContainer, container_at
from paimon_sql.format.avro.schemas import AvroMembers, AvroRecord, AvroType, without_logical_types
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.bytes.decimals import WIDTH, from_big_endian
from paimon_sql.format.bytes.memory import binary_buffers, offsets_of
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.file_formats.avro.schema import branch_of
from paimon_sql.storage.file_formats.base import FileRead, batch_of, canonical
from paimon_sql.storage.file_io.base import FileIO, translate_errors

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
    rows: list[AvroRecord] = []
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
        writer: AvroMembers = load_json(container.schema_text)
        self._stored = {member["name"]: member["type"] for member in writer["fields"]}
        self._schema_text = json.dumps(without_logical_types(writer))

    def rows(self, count: int, block: bytes) -> Iterator[list[AvroRecord]]:
        """Yield the records of a block, in several lists for a large one."""
        return self._container.batches([(count, block)], self._schema_text)

    def batch(self, rows: list[AvroRecord]) -> pa.RecordBatch:
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


T = TypeVar("T")

_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
_MILLIS_DIGITS = 3


def decode_column(values: Sequence[object], schema: AvroType, data_type: t.DataType) -> pa.Array:
    """Convert values decoded without logical types to an array of the column's canonical type.

    Args:
        values: one value per row, None for null.
        schema: the schema they were written with, including logical types.
        data_type: the column's type.

    Raises:
        pa.ArrowInvalid: a value does not fit the type.
    """
    target, branch = arrow_type(data_type), branch_of(schema)
    match data_type:
        case t.TimestampType() | t.LocalZonedTimestampType():
            unit = _unit(branch, data_type.precision)
            return conform(pa.array(values, pa.int64()).view(pa.timestamp(unit, target.tz)), target)
        case t.DateType() | t.TimeType():
            return pa.array(values, pa.int32()).view(target)
        case t.DecimalType():
            return _decimals(cast("Sequence[bytes | None]", values), target)
        case t.RowType():
            return _rows(cast("Sequence[AvroRecord | None]", values), branch, data_type, target)
        case t.ArrayType() | t.VectorType():
            lists = cast("Sequence[list[object] | None]", values)
            inner = decode_column(_flat(lists), branch["items"], data_type.element)
            return conform(_lists(lists, pa.list_(target.value_field), inner), target)
        case t.MapType() | t.MultisetType():
            return _maps(values, branch, *t.entry_types(data_type), target)
    return pa.array(values, target)


def _unit(branch: AvroMembers, precision: int) -> str:
    logical = str(branch.get("logicalType", ""))
    default = "ms" if precision <= _MILLIS_DIGITS else "us"
    return _UNITS.get(logical.rpartition("-")[2], default)


def _decimals(values: Sequence[bytes | None], target: pa.Decimal128Type) -> pa.Array:
    binary = pa.array(values, pa.binary())
    data, offsets = binary_buffers(binary)
    sizes = np.diff(offsets)
    if sizes.max(initial=0) > WIDTH:
        raise pa.ArrowInvalid(f"a decimal takes {int(sizes.max())} bytes")
    buffers = [binary.buffers()[0], from_big_endian(data, offsets[:-1], sizes)]
    return pa.Array.from_buffers(target, len(binary), buffers)


def _rows(values: Sequence[AvroRecord | None], branch: AvroMembers, row: t.RowType, target: pa.StructType) -> pa.Array:
    stored = {member["name"]: member["type"] for member in branch["fields"]}
    if not row.fields:
        return pa.array(values, target)
    children = []
    for field in row.fields:
        if field.name in stored:
            column = [None if value is None else value[field.name] for value in values]
            children.append(decode_column(column, stored[field.name], field.type))
        else:
            children.append(pa.nulls(len(values), arrow_type(field.type)))
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)


def _maps(
    values: Sequence[object], branch: AvroMembers, key: t.DataType, value: t.DataType, target: pa.MapType
) -> pa.Array:
    maps = cast("Sequence[AvroRecord | list[AvroRecord] | None]", values)
    if branch["type"] == "map":
        named = [one for one in maps if isinstance(one, dict)]
        keys = decode_column(_flat(named), "string", key)
        items = decode_column(_flat([one.values() for one in named]), branch["values"], value)
    else:
        pairs = _flat([one for one in maps if isinstance(one, list)])
        types = {member["name"]: member["type"] for member in branch_of(branch["items"])["fields"]}
        keys = decode_column([pair["key"] for pair in pairs], types["key"], key)
        items = decode_column([pair["value"] for pair in pairs], types["value"], value)
    entry = pa.StructArray.from_arrays([keys, items], fields=[target.key_field, target.item_field])
    return _lists(maps, target, entry)


def _flat(values: Sequence[Iterable[T] | None]) -> list[T]:
    return list(chain.from_iterable(value for value in values if value is not None))


def _lists(values: Sequence[Sized | None], target: pa.DataType, inner: pa.Array) -> pa.Array:
    sizes = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    offsets = offsets_of(sizes).astype(np.int32)
    present = pa.array([value is not None for value in values], pa.bool_())
    return pa.Array.from_buffers(target, len(values), [present.buffers()[1], pa.py_buffer(offsets)], children=[inner])

"""Avro writer: encodes records in blocks as batches arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import pyarrow as pa

from paimon_sql.format.avro.container import CODECS, AvroEncoder, codec_name
from paimon_sql.format.avro.schemas import without_logical_types
from paimon_sql.format.bytes.decimals import WIDTH, big_endian
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.file_formats.avro.schema import avro_schema, has_text_keys
from paimon_sql.storage.file_formats.base import StreamWriter, WriteSettings, refuse_nulls, unknown_compression
from paimon_sql.storage.file_io.base import FileIO, translate_errors

T = TypeVar("T")

_MILLIS_DIGITS = 3


def encode_column(array: pa.Array, data_type: t.DataType) -> Sequence[object]:
    """Return one encoded value per row, None for null, for a schema without logical types."""
    match data_type:
        case t.TimestampType() | t.LocalZonedTimestampType():
            unit = "ms" if data_type.precision <= _MILLIS_DIGITS else "us"
            return list(conform(array, pa.timestamp(unit, array.type.tz)).view(pa.int64()).to_pylist())
        case t.DateType() | t.TimeType():
            return list(array.view(pa.int32()).to_pylist())
        case t.DecimalType():
            return _decimals(array)
        case t.RowType():
            columns = [encode_column(array.field(i), f.type) for i, f in enumerate(data_type.fields)]
            names = [f.name for f in data_type.fields]
            return _where_valid(array, [dict(zip(names, row, strict=True)) for row in _rows(columns, len(array))])
        case t.ArrayType() | t.VectorType():
            lists = conform(array, pa.list_(array.type.value_field))
            return _slices(lists, encode_column(lists.values, data_type.element))
        case t.MapType() | t.MultisetType():
            return _maps(array, *t.entry_types(data_type))
    return list(array.to_pylist())


def _rows(columns: Sequence[Sequence[object]], rows: int) -> Iterable[tuple[object, ...]]:
    return zip(*columns, strict=True) if columns else ((),) * rows


def _where_valid(array: pa.Array, values: Sequence[T]) -> Sequence[T | None]:
    if array.null_count == 0:
        return values
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _slices(array: pa.Array, values: Sequence[T]) -> Sequence[Sequence[T] | None]:
    offsets = array.offsets.to_pylist()
    return _where_valid(array, [values[low:high] for low, high in pairwise(offsets)])


def _maps(array: pa.Array, key: t.DataType, value: t.DataType) -> Sequence[object]:
    pairs = zip(encode_column(array.keys, key), encode_column(array.items, value), strict=True)
    if has_text_keys(key):
        return [None if entries is None else dict(entries) for entries in _slices(array, list(pairs))]
    return _slices(array, [{"key": k, "value": v} for k, v in pairs])


def _decimals(array: pa.Array) -> Sequence[bytes | None]:
    big, spare = big_endian(array)
    data = big.tobytes()
    return _where_valid(array, [data[i * WIDTH + skip : (i + 1) * WIDTH] for i, skip in enumerate(spare.tolist())])


_BLOCK_ROWS, _BLOCK_BYTES = 2_000, 256 * 1024
_CODECS = (*CODECS, "none", "zstd")


class AvroWriter(StreamWriter):
    """A writer of one Avro file."""

    def __init__(self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings) -> None:
        self._fields = fields
        codec = settings.options.get("avro.codec", settings.compression).lower()
        if codec not in _CODECS:
            raise unknown_compression("Avro", codec, _CODECS)
        text = avro_schema(fields)
        coded_by = json.dumps(without_logical_types(json.loads(text)))
        self._encoder = AvroEncoder(text, codec_name(codec), coded_by=coded_by, zstd_level=settings.zstd_level)
        super().__init__(file_io, path)
        self._stream.write(self._encoder.header)

    def write(self, batch: pa.RecordBatch) -> None:
        rows = max(1, min(_BLOCK_ROWS, batch.num_rows * _BLOCK_BYTES // max(1, batch.nbytes)))
        for first in range(0, batch.num_rows, rows):
            self._write_block(batch.slice(first, rows))

    def _write_block(self, batch: pa.RecordBatch) -> None:
        refuse_nulls(self.path, batch.columns, self._fields)
        columns = [encode_column(c, f.type) for c, f in zip(batch.columns, self._fields, strict=True)]
        names = [f.name for f in self._fields]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        with translate_errors("write", self.path):
            self._stream.write(self._encoder.block(rows))

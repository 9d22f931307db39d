"""Writing Avro: records are coded in blocks as batches arrive."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Sequence

import cramjam
import pyarrow as pa
from fastavro import parse_schema, schemaless_writer

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.avro.container import codec_name, without_logical_types, write_container
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.avro.encode import encode_column
from paimon_sql.storage.file_formats.avro.schema import avro_schema
from paimon_sql.storage.file_formats.avro.varint import zigzag
from paimon_sql.storage.file_formats.base import DataFileWriter
from paimon_sql.storage.file_formats.settings import WriteSettings, unknown_compression
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import refusals

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_SYNC_SIZE = 16
_CRC_SIZE = 4
_BLOCK_ROWS, _BLOCK_BYTES = 2_000, 256 * 1024
_CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz", "none", "zstd")


class AvroWriter(DataFileWriter):
    """One Avro file in the making."""

    def __init__(self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings) -> None:
        self.path = path
        self._file_io = file_io
        self._fields = fields
        self._compress = _compressor(settings)
        text = avro_schema(fields)
        self._schema = parse_schema({"type": "array", "items": without_logical_types(json.loads(text))})
        header = write_container(text, [], settings.options.get("avro.codec", settings.compression))
        self._sync = header[-_SYNC_SIZE:]
        self._stream = file_io.open_output(path)
        self._stream.write(header)

    def write(self, batch: pa.RecordBatch) -> None:
        rows = max(1, min(_BLOCK_ROWS, batch.num_rows * _BLOCK_BYTES // max(1, batch.nbytes)))
        for first in range(0, batch.num_rows, rows):
            self._write_block(batch.slice(first, rows))

    def _write_block(self, batch: pa.RecordBatch) -> None:
        for column, field in zip(batch.columns, self._fields, strict=True):
            if column.null_count and not field.type.nullable:
                raise ConstraintViolationError(f"{self.path}: column '{field.name}' is NOT NULL and got a null.")
        columns = [encode_column(c, f.type) for c, f in zip(batch.columns, self._fields, strict=True)]
        names = [f.name for f in self._fields]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        coded = io.BytesIO()
        schemaless_writer(coded, self._schema, rows)
        # Coded as one array: its length stands before the records and a zero behind them.
        block = self._compress(coded.getvalue()[len(zigzag(len(rows))) : -1])
        with refusals("write", self.path):
            self._stream.write(zigzag(len(rows)) + zigzag(len(block)) + block + self._sync)

    @property
    def bytes_written(self) -> int:
        return int(self._stream.tell())

    def close(self) -> int:
        with refusals("write", self.path):
            size = int(self._stream.tell())
            self._stream.close()
        return size

    def abort(self) -> None:
        if not self._stream.closed:
            self._stream.close()
        self._file_io.delete(self.path)


def _compressor(settings: WriteSettings) -> Callable[[bytes], bytes]:
    chosen = settings.options.get("avro.codec", settings.compression).lower()
    if chosen not in _CODECS:
        raise unknown_compression("Avro", chosen, _CODECS)
    match codec_name(chosen):
        case "deflate":
            return _deflate
        case "snappy":
            return _snappy
        case "zstandard":
            return lambda data: zstd.compress(data, settings.zstd_level)
        case "bzip2":
            return bz2.compress
        case "xz":
            return lzma.compress
    return bytes


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(_CRC_SIZE, "big")

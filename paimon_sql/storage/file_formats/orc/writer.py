"""ORC writer through Arrow; the types in the footer are then replaced by those of Paimon's Java writer."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.orc as orc

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import ORC_DICTIONARY_KEY_THRESHOLD, ORC_PROPERTY
from paimon_sql.format.options.values import option
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import conform, conform_leaf, push_nulls_down
from paimon_sql.storage.file_formats.base import StreamWriter, WriteSettings, refuse_nulls
from paimon_sql.storage.file_formats.orc.schema import check_orc_fields, orc_arrow_schema, orc_types
from paimon_sql.storage.file_formats.orc.tail import parse_tail
from paimon_sql.storage.file_formats.orc.timestamps import EarlyFractions
from paimon_sql.storage.file_formats.tail_sink import TailSink
from paimon_sql.storage.file_io.base import FileIO, translate_errors

_CODECS = {
    "zstd": "zstd",
    "snappy": "snappy",
    "zlib": "zlib",
    "lz4": "lz4",
    "none": "uncompressed",
    "uncompressed": "uncompressed",
}
_MAGIC = b"ORC"
_STRIPE_SIZE = 16 * 2**20
"""Encoded bytes per stripe: an open writer buffers at most one."""
_COMPRESSION_BLOCK = 256 * 1024
_ROW_INDEX_STRIDE = 10_000


class OrcWriter(StreamWriter):
    """A writer of one ORC file."""

    def __init__(self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings) -> None:
        check_orc_fields(fields)
        self._fields = fields
        self._schema = orc_arrow_schema(fields)
        self._raw = self._flushed_raw = self._flushed = 0
        threshold = TableOptions(settings.options).get(ORC_DICTIONARY_KEY_THRESHOLD)
        codec = settings.codec(_CODECS)
        super().__init__(file_io, path)
        self._sink = TailSink(self._stream)
        self._writer = orc.ORCWriter(
            self._sink,
            compression=codec,
            stripe_size=settings.size(ORC_PROPERTY.for_name("stripe.size"), settings.block_size or _STRIPE_SIZE),
            compression_block_size=settings.size(ORC_PROPERTY.for_name("compress.size"), _COMPRESSION_BLOCK),
            row_index_stride=settings.read(
                option.integer, ORC_PROPERTY.for_name("row.index.stride"), _ROW_INDEX_STRIDE
            ),
            dictionary_key_size_threshold=threshold,
        )
        self._started = False
        self._fractions = EarlyFractions(fields)

    def write(self, batch: pa.RecordBatch) -> None:
        refuse_nulls(self.path, batch.columns, self._fields)
        columns = [
            # Arrow writes values below a struct's nulls, except for a top-level struct.
            push_nulls_down(conform(column, field.type, _to_physical))
            for column, field in zip(self._fractions.truncate(batch).columns, self._schema, strict=True)
        ]
        self._write(pa.Table.from_arrays(columns, schema=self._schema))
        self._raw += batch.nbytes
        if (out := self._sink.tell()) > self._flushed + len(_MAGIC):
            self._flushed, self._flushed_raw = out, self._raw

    def _write(self, table: pa.Table) -> None:
        with translate_errors("write", self.path):
            self._writer.write(table)
        self._started = True

    @property
    def bytes_written(self) -> int:
        ratio = self._flushed / self._flushed_raw if self._flushed_raw else 1.0
        return int(self._flushed + (self._raw - self._flushed_raw) * ratio)

    def _end(self) -> None:
        if not self._started:
            self._write(self._schema.empty_table())
        with self._sink.rewriting(self._with_java_types):
            self._writer.close()

    def close(self) -> int:
        size = super().close()
        if self._fractions:
            with self._file_io.open_input(self.path) as written:
                corrected = self._fractions.corrected(bytes(written.read()))
            self._file_io.write_bytes(self.path, corrected)
            return len(corrected)
        return size

    def _with_java_types(self, end_of_file: bytes) -> bytes:
        tail = parse_tail(end_of_file, len(end_of_file))
        if isinstance(tail, int):
            raise OSError(f"the footer takes {tail} bytes but only {len(end_of_file)} were reserved")
        return end_of_file[: tail.body_size] + tail.with_types(orc_types(self._fields)).encode()


def _to_physical(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_time32(array.type):
        return array.view(pa.int32())
    return conform_leaf(array, target)

"""Parquet writer: row groups of about the block size, dictionaries for repeated values, a page index."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.options.table.data_file import PARQUET_ENABLE_DICTIONARY, PARQUET_PROPERTY
from paimon_sql.format.options.values import option
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import conform, fill_below_nulls
from paimon_sql.storage.file_formats.base import StreamWriter, WriteSettings
from paimon_sql.storage.file_formats.int96 import INT96
from paimon_sql.storage.file_formats.parquet.footer import declare_int96
from paimon_sql.storage.file_formats.parquet.schema import leaves, parquet_schema, to_physical_leaf
from paimon_sql.storage.file_formats.tail_sink import TailSink
from paimon_sql.storage.file_io.base import FileIO, translate_errors

_CODECS = {
    "zstd": "ZSTD",
    "snappy": "SNAPPY",
    "gzip": "GZIP",
    "lz4": "LZ4",
    "lz4_raw": "LZ4",
    "none": "NONE",
    "uncompressed": "NONE",
}
_BLOCK_SIZE = 16 * 2**20
"""Bytes in memory per row group: a lookup decodes one, and an open writer buffers at most one."""
_PAGE_SIZE = 2**20
_SMALL_CHUNK_ROWS = 4096
_SAMPLE_ROWS = 10_000
_MAX_DISTINCT_RATIO = 0.5
_FEW = pa.array(np.r_[:500, 500:_SAMPLE_ROWS:19])
"""Places in a sample: values that repeat side by side are seen, and values that come back from time to time."""
_UNIQUE_RATIO = 0.95
_DICTIONARY = PARQUET_ENABLE_DICTIONARY.key


class ParquetWriter(StreamWriter):
    """A writer of one Parquet file; rows are buffered until they fill a row group."""

    def __init__(self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings) -> None:
        self._settings = settings
        self._codec = settings.codec(_CODECS)
        self._block_size = settings.size(PARQUET_PROPERTY.for_name("block.size"), settings.block_size or _BLOCK_SIZE)
        self._schema = parquet_schema(fields)
        self._int96 = [name for name, physical in leaves(self._schema) if physical.equals(INT96)]
        super().__init__(file_io, path)
        self._sink = TailSink(self._stream) if self._int96 else None
        self._writer: pq.ParquetWriter | None = None
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._flushed_raw = 0

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [
            fill_below_nulls(conform(column, field.type, to_physical_leaf))
            for column, field in zip(batch.columns, self._schema, strict=True)
        ]
        physical = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._pending.append(physical)
        self._pending_bytes += physical.nbytes
        if self._pending_bytes >= self._block_size:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._pending, self._schema)
        if table.num_rows < len(self._pending) * _SMALL_CHUNK_ROWS:
            table = table.combine_chunks()
        if self._writer is None:
            self._writer = self._open(table)
        with translate_errors("write", self.path):
            try:
                if table.num_rows:
                    self._writer.write_table(table, row_group_size=table.num_rows)
            except pa.ArrowInvalid as error:
                raise ConstraintViolationError(f"{self.path}: {error}.") from error
        self._flushed_raw += self._pending_bytes
        self._pending, self._pending_bytes = [], 0

    def _open(self, sample: pa.Table) -> pq.ParquetWriter:
        settings = self._settings
        level = settings.zstd_level if self._codec == "ZSTD" else None
        return pq.ParquetWriter(
            self._sink or self._stream,
            self._schema,
            version="2.6",
            compression=self._codec,
            compression_level=level,
            use_dictionary=self._dictionary_columns(sample),
            write_statistics=[p for p, _ in leaves(self._schema) if p not in self._int96] if self._int96 else True,
            data_page_version="1.0",
            data_page_size=settings.size(PARQUET_PROPERTY.for_name("page.size"), _PAGE_SIZE),
            dictionary_pagesize_limit=settings.size(PARQUET_PROPERTY.for_name("dictionary.page.size"), _PAGE_SIZE),
            write_page_index=True,
            store_schema=False,
            store_decimal_as_integer=True,
            **self._newer_options(),
        )

    def _dictionary_columns(self, sample: pa.Table) -> list[str] | bool:
        """Return the leaves with a dictionary: those set by options, else those whose first values repeat."""
        by_column = self._settings.flags_by_column(_DICTIONARY)
        if not self._settings.read(option.boolean, _DICTIONARY, True):
            return [c for c, wanted in by_column.items() if wanted]
        head = sample.slice(0, _SAMPLE_ROWS)
        columns = dict(zip(head.column_names, head.columns, strict=True))
        chosen = []
        for path, physical in leaves(self._schema):
            if not by_column.get(path, True) or pa.types.is_boolean(physical):
                continue
            column = columns.get(path)
            if column is None or column.type.num_fields or _repeats(column):
                chosen.append(path)
        return chosen

    def _newer_options(self) -> dict[str, object]:
        """Return arguments that only newer supported versions of Arrow accept, if the file needs them."""
        options: dict[str, object] = {}
        if any(pa.types.is_time(physical) for _, physical in leaves(self._schema)):
            options["write_time_adjusted_to_utc"] = True
        if filters := self._bloom_filters():
            options["bloom_filter_options"] = filters
        return options

    def _bloom_filters(self) -> dict[str, dict[str, object]]:
        settings = self._settings
        wanted = settings.flags_by_column(PARQUET_PROPERTY.for_name("bloom.filter.enabled"))
        ndv = settings.texts_by_column(PARQUET_PROPERTY.for_name("bloom.filter.expected.ndv"))
        fpp = settings.texts_by_column(PARQUET_PROPERTY.for_name("bloom.filter.fpp"))
        filters: dict[str, dict[str, object]] = {}
        for column in (c for c, flag in wanted.items() if flag):
            filters[column] = {"ndv": int(ndv[column])} if column in ndv else {}
            if column in fpp:
                filters[column]["fpp"] = float(fpp[column])
        return filters

    @property
    def bytes_written(self) -> int:
        out = self._stream.tell()
        # Assume that pending rows compress like the written ones.
        ratio = out / self._flushed_raw if self._flushed_raw else 1.0
        return int(out + self._pending_bytes * ratio)

    def _end(self) -> None:
        if self._pending or self._writer is None:
            self._flush()
        declared = partial(declare_int96, paths=set(self._int96))
        with nullcontext() if self._sink is None else self._sink.rewriting(declared):
            if self._writer is not None:
                self._writer.close()

    def abort(self) -> None:
        self._pending = []
        super().abort()


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary pays off: many of the first values repeat."""
    if len(column) == _SAMPLE_ROWS and _distinct_ratio(column.take(_FEW)) >= _UNIQUE_RATIO:
        return False
    return _distinct_ratio(column) <= _MAX_DISTINCT_RATIO


def _distinct_ratio(column: pa.ChunkedArray) -> float:
    known = len(column) - column.null_count
    return float(pc.count_distinct(column).as_py() / known) if known else 0.0

"""Parquet reader: row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import ColumnRange, FileRead, batch_of, canonical, decoding_file
from paimon_sql.storage.file_formats.parquet.footer import int96_as_bytes
from paimon_sql.storage.file_formats.parquet.leaves import leaves_of
from paimon_sql.storage.file_formats.parquet.schema import from_physical_leaf
from paimon_sql.storage.file_formats.parquet.variant_columns import reassemble
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import translate_errors

_RANGE_BATCH_ROWS = 8192
_READ_AHEAD = 64 * 1024
"""Bytes per read of a column: complete columns of a row group would add up when many files are merged."""


def read_parquet(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the requested columns of a Parquet file as canonical batches, each with its first row's position."""
    with (
        translate_errors("read", wanted.path),
        file_io.open_input(wanted.path) as source,
        decoding_file("cannot be read as Parquet", wanted.path),
    ):
        yield from _row_groups(source, wanted, file_io.is_object_store(wanted.path))


def _row_groups(source: pa.NativeFile, wanted: FileRead, remote: bool) -> Iterator[tuple[int, pa.RecordBatch]]:
    file = pq.ParquetFile(source, pre_buffer=remote, buffer_size=0 if remote else _READ_AHEAD)
    if any(file.schema.column(i).physical_type == "INT96" for i in range(len(file.schema))):
        file = pq.ParquetFile(source, pre_buffer=remote, metadata=int96_as_bytes(source))
    present = set(file.schema_arrow.names)
    names = [name for name in wanted.columns if name in present]
    schema, first = wanted.schema, 0
    for group in range(file.num_row_groups):
        metadata = file.metadata.row_group(group)
        count = metadata.num_rows
        if wanted.touches(first, count) and (
            wanted.predicate is None or wanted.predicate.may_match(count, column_ranges(metadata))
        ):
            at = first
            for batch in _group_batches(file, group, count, names, wanted):
                columns = [_column(batch, field, wanted.path) for field in wanted.wanted]
                yield from wanted.cut(at, batch_of(columns, schema, batch.num_rows))
                at += batch.num_rows
                if wanted.row_ranges is not None and not wanted.touches(at, first + count - at):
                    break
        first += count


def _group_batches(
    file: pq.ParquetFile, group: int, count: int, names: list[str], wanted: FileRead
) -> Iterator[pa.RecordBatch]:
    if names:
        # A read of few rows stops after the last of them; the rest is never decoded.
        size = wanted.rows_at_once(count, file.metadata.row_group(group).total_byte_size)
        if wanted.row_ranges is not None:
            size = min(size, _RANGE_BATCH_ROWS)
        # By number: a name with a dot cannot be distinguished from an inner field.
        leaves = leaves_of(file.schema_arrow, wanted.wanted)
        yield from file.reader.iter_batches(size, row_groups=[group], column_indices=leaves, use_threads=wanted.threads)
        return
    for at in range(0, count, wanted.batch_rows):
        yield batch_of([], pa.schema([]), min(wanted.batch_rows, count - at))


def _column(batch: pa.RecordBatch, field: t.DataField, path: str) -> pa.Array:
    at = batch.schema.get_field_index(field.name)
    column = pa.nulls(batch.num_rows) if at < 0 else reassemble(batch.column(at), field.type)
    return canonical(column, field, path, from_physical_leaf)


def column_ranges(row_group: pq.RowGroupMetaData) -> Mapping[str, ColumnRange]:
    """Return the statistics of a row group's flat columns."""
    ranges = {}
    for i in range(row_group.num_columns):
        chunk = row_group.column(i)
        statistics = chunk.statistics
        if statistics is not None and "." not in chunk.path_in_schema:
            low, high = _bounds(statistics)
            nulls = statistics.null_count if statistics.has_null_count else None
            ranges[chunk.path_in_schema] = ColumnRange(low, high, nulls)
    return ranges


def _bounds(statistics: pq.Statistics) -> tuple[Any, Any]:
    if not statistics.has_min_max:
        return None, None
    try:
        return statistics.min, statistics.max
    except (OverflowError, ValueError):
        return None, None  # a time in a year that Python does not support

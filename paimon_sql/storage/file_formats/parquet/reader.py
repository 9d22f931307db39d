"""Parquet reader: row group by row group, only the leaves of the requested parts of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.paths import Path
from paimon_sql.format.variant.shredding.shred import TYPED_VALUE, VALUE
from paimon_sql.storage.expressions.kernels.conform import is_listlike
from paimon_sql.storage.file_formats.base import (
    ColumnRange,
    FileRead,
    RowGroupFilter,
    batch_of,
    canonical,
    decoding_file,
)
from paimon_sql.storage.file_formats.parquet.footer import int96_as_bytes
from paimon_sql.storage.file_formats.parquet.kept_rows import GroupColumns, kept_batches
from paimon_sql.storage.file_formats.parquet.schema import from_physical_leaf
from paimon_sql.storage.file_formats.parquet.variants import reassemble
from paimon_sql.storage.file_io.base import FileIO, translate_errors

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
    file = _opened(source, remote)
    present = set(file.schema_arrow.names)
    names = [name for name in wanted.columns if name in present]
    schema, first = wanted.schema, 0
    for group in range(file.num_row_groups):
        metadata = file.metadata.row_group(group)
        count = metadata.num_rows
        if wanted.touches(first, count) and _may_match(metadata, wanted.predicate):
            at = first
            for batch in _group_batches(file, group, count, names, wanted):
                if wanted.touches(at, batch.num_rows):
                    columns = _columns(batch, wanted)
                    yield from wanted.cut(at, batch_of(columns, schema, batch.num_rows))
                at += batch.num_rows
                if wanted.row_ranges is not None and not wanted.touches(at, first + count - at):
                    break
        first += count


def _opened(source: pa.NativeFile, remote: bool) -> pq.ParquetFile:
    file = pq.ParquetFile(source, pre_buffer=remote)
    metadata = file.metadata
    if any(file.schema.column(i).physical_type == "INT96" for i in range(len(file.schema))):
        metadata = int96_as_bytes(source)
    # A buffer for each column pays off where a column is larger.
    ahead = 0 if remote or _bytes_per_column(metadata) <= _READ_AHEAD else _READ_AHEAD
    if metadata is file.metadata and not ahead:
        return file
    return pq.ParquetFile(source, metadata=metadata, pre_buffer=remote, buffer_size=ahead)


def _bytes_per_column(metadata: pq.FileMetaData) -> float:
    groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return float(max(groups, default=0) / max(1, metadata.num_columns))


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
        decode = partial(file.reader.iter_batches, size, row_groups=[group], column_indices=leaves, use_threads=False)
        kept = GroupColumns(wanted.path, wanted.size, group, tuple(leaves))
        yield from kept_batches(kept, count, decode) if wanted.is_lookup else decode()
        return
    for at in range(0, count, wanted.batch_rows):
        yield batch_of([], pa.schema([]), min(wanted.batch_rows, count - at))


def _columns(batch: pa.RecordBatch, wanted: FileRead) -> list[pa.Array]:
    present = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = []
    for field in wanted.wanted:
        column = present.get(field.name)
        column = pa.nulls(batch.num_rows) if column is None else reassemble(column, field.type)
        columns.append(canonical(column, field, wanted.path, from_physical_leaf))
    return columns


def _may_match(row_group: pq.RowGroupMetaData, predicate: RowGroupFilter | None) -> bool:
    if predicate is None:
        return True
    return predicate.may_match(row_group.num_rows, column_ranges(row_group, predicate.columns))


def column_ranges(row_group: pq.RowGroupMetaData, names: Collection[str]) -> Mapping[str, ColumnRange]:
    """Return the statistics of a row group's flat columns of these names."""
    ranges = {}
    for i in range(row_group.num_columns):
        chunk = row_group.column(i)
        name = chunk.path_in_schema
        if name in names and "." not in name and (statistics := chunk.statistics) is not None:
            low, high = _bounds(statistics)
            nulls = statistics.null_count if statistics.has_null_count else None
            ranges[name] = ColumnRange(low, high, nulls)
    return ranges


def _bounds(statistics: pq.Statistics) -> tuple[object, object]:
    if not statistics.has_min_max:
        return None, None
    try:
        return statistics.min, statistics.max
    except (OverflowError, ValueError):
        return None, None  # a time in a year that Python does not support


def leaves_of(schema: pa.Schema, wanted: Iterable[t.DataField]) -> list[int]:
    """Return the numbers of the leaves of columns, as far as the file has them.

    Of a struct, at any depth, only the fields of the requested type are included. If the file has none of them, all
    are: without a leaf it would be unknown where the struct is null. Of a shredded variant only the leaves of the
    requested paths are included.

    Args:
        schema: the file's schema in Arrow, with one childless part per leaf.
        wanted: the requested columns.
    """
    return _leaves_below(schema, {f.name: f.type for f in wanted}, 0)


def _parts(fields: Iterable[pa.Field], first: int) -> Iterator[tuple[pa.Field, range]]:
    """Yield the parts of a schema, each with the numbers of its leaves."""
    for field in fields:
        leaves = range(first, first + _count(field.type))
        yield field, leaves
        first = leaves.stop


def _leaves_below(fields: Iterable[pa.Field], wanted: Mapping[str, t.DataType], first: int) -> list[int]:
    return [
        leaf
        for field, inside in _parts(fields, first)
        if field.name in wanted
        for leaf in _chosen(field.type, wanted[field.name], inside.start)
    ]


def _chosen(kind: pa.DataType, wanted: t.DataType, first: int) -> list[int]:
    if not kind.num_fields:
        return [first]
    every = list(range(first, first + _count(kind)))
    if isinstance(wanted, t.VariantType) and wanted.paths is not None and pa.types.is_struct(kind):
        return _of_variant(kind, wanted.paths, first)
    if pa.types.is_struct(kind) and isinstance(wanted, t.RowType):
        return _leaves_below(kind, {f.name: f.type for f in wanted.fields}, first) or every
    if pa.types.is_map(kind) and isinstance(wanted, t.MapType):
        keys = _count(kind.key_type)
        return [*every[:keys], *_chosen(kind.item_type, wanted.value, first + keys)]
    if is_listlike(kind) and isinstance(wanted, t.ArrayType):
        return _chosen(kind.value_type, wanted.element, first)
    return every


def _of_variant(group: pa.StructType, paths: Sequence[Path], first: int) -> list[int]:
    """Return the leaves of a variant's column group that hold the values of paths relative to it.

    A shredded field is stored only in its typed column: the residual object of a group has only keys without a typed
    column.
    """
    typed = group.field(group.get_field_index(TYPED_VALUE)).type if group.get_field_index(TYPED_VALUE) >= 0 else None
    if typed is None or not all(paths):
        return list(range(first, first + _count(group)))
    paths_by_step: dict[str | int, list[Path]] = {}
    for path in paths:
        paths_by_step.setdefault(path[0], []).append(path[1:])
    shredded = {step: rest for step, rest in paths_by_step.items() if _has_column(typed, step)}
    skipped = {VALUE} if len(shredded) == len(paths_by_step) else set()
    found: list[int] = []
    for part, inside in _parts(group, first):
        if part.name == TYPED_VALUE:
            found += _of_typed(typed, shredded, inside.start)
        elif part.name not in skipped:
            found += inside
    return found


def _has_column(typed: pa.DataType, step: str | int) -> bool:
    if isinstance(step, str):
        return bool(pa.types.is_struct(typed) and typed.get_field_index(step) >= 0)
    return is_listlike(typed)


def _of_typed(typed: pa.DataType, paths: dict[str | int, list[Path]], first: int) -> list[int]:
    if not pa.types.is_struct(typed):
        return _of_variant(typed.value_type, [p for rest in paths.values() for p in rest], first) if paths else []
    below = ((field, inside) for field, inside in _parts(typed, first) if field.name in paths)
    return [leaf for field, inside in below for leaf in _of_variant(field.type, paths[field.name], inside.start)]


def _count(kind: pa.DataType) -> int:
    """Return the number of leaves of a part of a schema."""
    if not kind.num_fields:
        return 1
    if pa.types.is_struct(kind):
        return sum(_count(inner.type) for inner in kind)
    if pa.types.is_map(kind):
        return _count(kind.key_type) + _count(kind.item_type)
    return _count(kind.value_type) if is_listlike(kind) else 1

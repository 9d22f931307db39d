"""Rolling writers: rows of one bucket in files of the target size with file indexes, blobs in files of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.file_index.base import IndexBuilder
from paimon_sql.format.file_index.container import write_container
from paimon_sql.format.file_index.declared import DeclaredIndex
from paimon_sql.format.layout.paths import data_extension, file_index_name
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.options.table.data_file import StatsMode, StoredStats
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND, RowKind, key_field
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import (
    EMPTY_ROW,
    EMPTY_STATS,
    KEY_MODE,
    StatsCollector,
)
from paimon_sql.format.text.instants import wall_clock_millis
from paimon_sql.storage.file_formats.base import DataFileWriter
from paimon_sql.storage.file_formats.blob.fetch import BlobFetcher
from paimon_sql.storage.file_formats.blob.writer import BlobWriter
from paimon_sql.storage.file_formats.parquet.variants import shape_history
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.table.data_file_paths import external_place
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.settings import FileNamer, WriteSettings


@dataclass
class _OpenFile:
    name: str
    path: str
    writer: DataFileWriter
    key_stats: StatsCollector | None
    value_stats: StatsCollector
    indexes: FileIndexes
    row_group: int
    rows: int = 0
    size: int = 0
    deletes: int = 0
    unnumbered: bool = False
    low_sequence: int | None = None
    high_sequence: int | None = None
    first_key: bytes = EMPTY_ROW
    last_key: bytes = EMPTY_ROW


_USUAL_ROW_GROUP = 128 * 1024 * 1024
_STEP_BYTES = 16 * 1024 * 1024
"""The max bytes that are written before the size of the file is checked."""


@dataclass(eq=False)
class RollingWriter:
    """Writes rows to data files of one bucket and level (Paimon: `RollingFileWriter`).

    Batches have the columns of the data files, system columns included; in primary-key tables they are sorted by key.

    Attributes:
        table: the table.
        settings: the write settings.
        partition: the serialised partition row.
        bucket: the bucket.
        level: the level of the files in the LSM tree, 0 for append tables.
        source: whether the rows are new or rewritten.
        namer: names the files; by default a new one.
        first_sequence: the sequence number of the first row, for tables whose rows carry none.
        row_group: the max bytes of rows that a new file holds in memory; None for the default.
        copies_blobs: whether rows have descriptors of the table's own blobs, which are copied.
    """

    table: Table
    settings: WriteSettings
    partition: bytes
    bucket: int
    _: KW_ONLY
    namer: FileNamer | None = None
    level: int = 0
    source: FileSource = FileSource.APPEND
    first_sequence: int = 0
    row_group: Callable[[], int | None] = lambda: None
    copies_blobs: bool = False

    def __post_init__(self) -> None:
        table, settings, place = self.table, self.settings, (self.partition, self.bucket)
        self._namer = self.namer or FileNamer(settings.file_prefix)
        self._next_sequence = self.first_sequence
        self._max_rows = settings.max_file_rows if self.source is FileSource.APPEND else sys.maxsize
        self._history = shape_history(table.schema.options)
        self._open: _OpenFile | None = None
        self._done: list[DataFileMeta] = []
        self._paths: list[str] = []
        self._external_path = external_place(table, *place)
        self._keys = table.schema.key_fields
        self._codec = RowCodec([f.type for f in self._keys])
        self._blobs = [
            BlobColumnWriter(
                table, settings, f, *place, namer=self._namer, source=self.source, copies=self.copies_blobs
            )
            for f in settings.blob_fields
        ]
        self._vectors: RollingWriter | None = None
        if (vectors := settings.vectors) is not None:
            self._vectors = RollingWriter(
                table, vectors, *place, namer=self._namer, source=self.source, row_group=self.row_group
            )
            self._vector_names = [f.name for f in vectors.stored_fields]

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; a file that reaches the target size is closed, and the rest is written to the next one."""
        step = min(_STEP_BYTES, self.settings.target_file_size)
        has_other_files = self._blobs or self._vectors is not None
        own = batch.select([f.name for f in self.settings.stored_fields]) if has_other_files else batch
        rows, first = max(1, batch.num_rows * step // max(1, own.nbytes)), 0
        while first < batch.num_rows:
            count = min(rows, self._max_rows - (self._open.rows if self._open else 0))
            if self._vectors is not None:
                self._vectors.write(batch.select(self._vector_names).slice(first, count))
            self._write(own.slice(first, count), [batch.column(w.field.name).slice(first, count) for w in self._blobs])
            first += count

    @property
    def unfinished(self) -> int:
        """The max bytes of rows that the open files hold in memory."""
        of_vectors = self._vectors.unfinished if self._vectors is not None else 0
        return of_vectors + (min(self._open.size, self._open.row_group) if self._open else 0)

    def finish(self) -> None:
        """Close the open file; the next rows are written to a new one."""
        if self._open is not None:
            self._finish(self._open)

    def close(self) -> list[DataFileMeta]:
        """Close the open file; return the files since the last call, in the order of writing."""
        self.finish()
        done, self._done = self._done, []
        return done

    def abort(self) -> None:
        """Delete all files that were written."""
        if self._open is not None:
            self._open.writer.abort()
            self._open = None
        for writer in self._blobs:
            writer.abort()
        if self._vectors is not None:
            self._vectors.abort()
        self.table.file_io.delete_many(self._paths)

    def _write(self, batch: pa.RecordBatch, blobs: Sequence[pa.Array]) -> None:
        current = self._open or self._begin()
        current.writer.write(batch)
        for writer, column in zip(self._blobs, blobs, strict=True):
            writer.write(column)
        self._account(current, batch)
        if current.rows >= self._max_rows or current.writer.bytes_written >= self.settings.target_file_size:
            self._finish(current)

    def _begin(self) -> _OpenFile:
        s = self.settings
        kind, compression = s.file_format(self.level), s.compression(self.level)
        extension = data_extension(kind, compression, with_compression=s.compression_in_name)
        name = self._namer.next(f"{s.mark}{extension}")
        directory = self.table.locations.bucket(self.partition, self.bucket)
        path = f"{directory}/{name}" if self._external_path is None else self._external_path(name)
        keys = self._keys if s.thin else [key_field(f) for f in self._keys]
        options = self.table.schema.options
        row_group = self.row_group()
        if row_group is not None:
            options = {"file.block-size": f"{row_group} b", **options}
        self._open = _OpenFile(
            name=name,
            path=path,
            writer=file_format(kind).open_writer(
                self.table.file_io,
                path,
                s.stored_fields,
                options,
                compression=compression,
                history=self._history,
            ),
            key_stats=StatsCollector(keys, [KEY_MODE] * len(keys), file_format=kind, dense=False) if keys else None,
            value_stats=StatsCollector(
                s.stats_fields, s.value_modes(self.level), file_format=kind, dense=s.dense_stats
            ),
            indexes=FileIndexes(s.file_indexes, s.stored_fields),
            row_group=row_group or _USUAL_ROW_GROUP,
        )
        return self._open

    def _account(self, current: _OpenFile, batch: pa.RecordBatch) -> None:
        current.rows += batch.num_rows
        current.size += batch.nbytes
        current.value_stats.update(batch)
        current.indexes.add(batch)
        if self.settings.carries_numbers or current.key_stats is not None:
            self._account_numbers(current, batch)
        if current.key_stats is None:
            return
        current.key_stats.update(batch)
        if not current.first_key or current.rows == batch.num_rows:
            current.first_key = self._key(batch, 0)
        current.last_key = self._key(batch, batch.num_rows - 1)
        kinds = batch.column(VALUE_KIND.name).to_numpy()
        current.deletes += int(np.isin(kinds, (RowKind.DELETE, RowKind.UPDATE_BEFORE)).sum())

    @staticmethod
    def _account_numbers(current: _OpenFile, batch: pa.RecordBatch) -> None:
        numbers = batch.column(SEQUENCE_NUMBER.name)
        current.unnumbered |= numbers.null_count > 0
        found = pc.min_max(numbers).as_py()
        low, high = found["min"], found["max"]
        if low is not None:
            current.low_sequence = low if current.low_sequence is None else min(low, current.low_sequence)
            current.high_sequence = high if current.high_sequence is None else max(high, current.high_sequence)

    def _key(self, batch: pa.RecordBatch, row: int) -> bytes:
        return self._codec.encode([_plain(batch.column(f.name).slice(row, 1)) for f in self._keys])

    def _finish(self, current: _OpenFile) -> None:
        size = current.writer.close()
        self._paths.append(current.path)
        embedded, extra = self._indexes(current)
        value_stats, value_columns = current.value_stats.finish()
        low, high = current.low_sequence, current.high_sequence
        columns = self.settings.write_columns
        if columns is not None:
            # 0 is replaced by the id of the new snapshot, as for new rows.
            low, high = low or 0, 0 if current.unnumbered else high or 0
            if value_columns is None and self.settings.lists_stats_columns:
                value_columns = tuple(f.name for f in self.settings.stats_fields)
        if low is None or high is None:
            low, high = self._next_sequence, self._next_sequence + current.rows - 1
            self._next_sequence = high + 1
        self._done.append(
            DataFileMeta(
                file_name=current.name,
                file_size=size,
                row_count=current.rows,
                min_key=current.first_key,
                max_key=current.last_key,
                key_stats=current.key_stats.finish()[0] if current.key_stats else EMPTY_STATS,
                value_stats=value_stats,
                min_sequence_number=low,
                max_sequence_number=high,
                schema_id=self.table.schema.id,
                level=self.level,
                extra_files=extra,
                creation_time_millis=wall_clock_millis(),
                delete_row_count=current.deletes,
                embedded_index=embedded,
                file_source=self.source,
                value_stats_cols=value_columns,
                write_cols=columns,
                external_path=None if self._external_path is None else current.path,
            )
        )
        for writer in self._blobs:
            self._done += writer.finish()
        if self._vectors is not None:
            self._done += self._vectors.close()
        self._open = None

    def _indexes(self, current: _OpenFile) -> tuple[bytes | None, tuple[str, ...]]:
        """The file's indexes: as bytes for the manifest, or as the name of a file that was written for them."""
        indexes = current.indexes.finish()
        if indexes is None or len(indexes) <= self.settings.max_manifest_index_bytes:
            return indexes, ()
        path = file_index_name(current.path)
        self._paths.append(path)
        self.table.file_io.write_bytes(path, indexes)
        return None, (file_index_name(current.name),)


def _plain(one: pa.Array) -> object:
    kind = one.type
    if pa.types.is_timestamp(kind):
        # Python's datetime supports neither nanoseconds nor all years; the codec accepts integers too.
        return one.cast(pa.int64())[0].as_py()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return one.cast(pa.int32())[0].as_py()
    return one[0].as_py()


class Abortable(Protocol):
    """A writer of files."""

    def abort(self) -> None:
        """Delete all files that were written."""


@contextmanager
def aborted_on_error(*writers: Abortable) -> Iterator[None]:
    """Abort all writers if the block fails or is interrupted, the others even if one cannot delete its files."""
    with ExitStack() as stack:
        for writer in reversed(writers):
            stack.callback(writer.abort)
        yield
        stack.pop_all()


def write_all(writer: RollingWriter, batches: Iterable[pa.RecordBatch]) -> list[DataFileMeta]:
    """Write all batches and close; on an error all written files are deleted."""
    with aborted_on_error(writer):
        for batch in batches:
            writer.write(batch)
        return writer.close()


class FileIndexes:
    """Builds the indexes of one data file.

    Args:
        declared: the declared indexes; those whose columns are missing in the file or of other types are skipped.
        fields: the file's columns.
    """

    def __init__(self, declared: Iterable[DeclaredIndex], fields: Sequence[DataField]) -> None:
        types = {f.name: f.type for f in fields}
        self._builders: list[tuple[DeclaredIndex, IndexBuilder]] = []
        for index in declared:
            column = types.get(index.column)
            kind = index.type_in(column) if column is not None else None
            if kind is not None:
                self._builders.append((index, index.kind.builder(kind, index.settings)))

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the next rows of the file."""
        for index, builder in self._builders:
            builder.add(index.values_in(rows.column(index.column)))

    def finish(self) -> bytes | None:
        """The container of all indexes; None if there are none."""
        found: dict[str, dict[str, bytes | None]] = {}
        for index, builder in self._builders:
            body = builder.finish()
            if body is not None:
                found.setdefault(index.name, {})[index.kind.name] = body
        return write_container(found) if found else None


_EXTENSION = ".blob"


@dataclass(eq=False)
class BlobColumnWriter:
    """Writes the blobs of one column, for the rows of the data files (spec: Blob File).

    Attributes:
        table: the table.
        settings: the write settings.
        field: the column.
        partition: the serialised partition row.
        bucket: the bucket.
        namer: names the files.
        source: whether the rows are new or rewritten.
        target: the size at which a file is closed; by default that of the table's options.
        copies: whether values are descriptors of the table's own blobs, which are copied. Otherwise they are blobs, or
            descriptors if the write's options allow these.
    """

    table: Table
    settings: WriteSettings
    field: DataField
    partition: bytes
    bucket: int
    _: KW_ONLY
    namer: FileNamer
    source: FileSource = FileSource.APPEND
    target: int | None = None
    copies: bool = False

    def __post_init__(self) -> None:
        self._directory = self.table.locations.bucket(self.partition, self.bucket)
        self._target = self.settings.blob_target_file_size if self.target is None else self.target
        self._fetcher = BlobFetcher.own(self.table) if self.copies else BlobFetcher.for_write(self.table)
        self._open: BlobWriter | None = None
        self._done: list[DataFileMeta] = []
        self._paths: list[str] = []

    def write(self, column: pa.Array) -> None:
        """Append values; a file that reaches the target size is closed, and the rest is written to the next one."""
        at = 0
        while at < len(column):
            current = self._open or self._begin()
            at += current.append(column.slice(at), self._target)
            if current.bytes_written >= self._target:
                self._close(current)

    def skip(self, rows: int) -> None:
        """Append placeholders for rows whose values older files hold."""
        if rows:
            (self._open or self._begin()).skip(rows)

    def finish(self) -> list[DataFileMeta]:
        """Close the open file; return the files since the last call, in the order of their rows."""
        if self._open is not None:
            self._close(self._open)
        done, self._done = self._done, []
        return done

    def abort(self) -> None:
        """Delete all files that were written."""
        if self._open is not None:
            self._open.abort()
            self._open = None
        self.table.file_io.delete_many(self._paths)

    def _begin(self) -> BlobWriter:
        path = f"{self._directory}/{self.namer.next(_EXTENSION)}"
        self._open = BlobWriter(self.table.file_io, path, self.field, self._fetcher)
        return self._open

    def _close(self, current: BlobWriter) -> None:
        size = current.close()
        self._paths.append(current.path)
        collector = StatsCollector([self.field], [StatsMode(StoredStats.NOTHING)], dense=self.settings.dense_stats)
        stats, counted = collector.finish()
        self._done.append(
            DataFileMeta(
                file_name=current.path.rpartition("/")[2],
                file_size=size,
                row_count=current.rows,
                value_stats=stats,
                # The sequence numbers are 0, which is replaced by the id of the new snapshot.
                schema_id=self.table.schema.id,
                creation_time_millis=wall_clock_millis(),
                delete_row_count=0,
                file_source=self.source,
                value_stats_cols=counted,
                write_cols=(self.field.name,),
            )
        )
        self._open = None

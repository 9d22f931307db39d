"""Rolling writer of blob files: one column of a bucket, in files of the target size (spec: Blob File)."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.options.table.data_file import StatsMode, StoredStats
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import StatsCollector
from paimon_sql.format.text.instants import wall_clock_millis
from paimon_sql.storage.file_formats.blob.fetch import BlobFetcher
from paimon_sql.storage.file_formats.blob.writer import BlobWriter
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.settings import FileNamer, WriteSettings

_EXTENSION = ".blob"


class BlobColumnWriter:
    """Writes the blobs of one column, for the rows of the data files.

    Args:
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

    def __init__(
        self,
        table: Table,
        settings: WriteSettings,
        field: DataField,
        partition: bytes,
        bucket: int,
        *,
        namer: FileNamer,
        source: FileSource = FileSource.APPEND,
        target: int | None = None,
        copies: bool = False,
    ) -> None:
        self.name = field.name
        self._table = table
        self._settings = settings
        self._field = field
        self._directory = table.locations.bucket(partition, bucket)
        self._namer = namer
        self._source = source
        self._target = settings.blob_target_file_size if target is None else target
        self._fetcher = BlobFetcher.own(table) if copies else BlobFetcher.for_write(table)
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
        self._table.file_io.delete_many(self._paths)

    def _begin(self) -> BlobWriter:
        path = f"{self._directory}/{self._namer.next(_EXTENSION)}"
        self._open = BlobWriter(self._table.file_io, path, self._field, self._fetcher)
        return self._open

    def _close(self, current: BlobWriter) -> None:
        size = current.close()
        self._paths.append(current.path)
        collector = StatsCollector([self._field], [StatsMode(StoredStats.NOTHING)], dense=self._settings.dense_stats)
        stats, counted = collector.finish()
        self._done.append(
            DataFileMeta(
                file_name=current.path.rpartition("/")[2],
                file_size=size,
                row_count=current.rows,
                value_stats=stats,
                # The sequence numbers are 0, which is replaced by the id of the new snapshot.
                schema_id=self._table.schema.id,
                creation_time_millis=wall_clock_millis(),
                delete_row_count=0,
                file_source=self._source,
                value_stats_cols=counted,
                write_cols=(self.name,),
            )
        )
        self._open = None

"""Writer of append tables: rows are written in their order, into files per partition and bucket."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.partitioning.routing import UNAWARE, Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buffer import BucketBuffers
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.files.rolling import RollingWriter
from paimon_sql.storage.write.settings import WriteSettings

_MIN_ROW_GROUP, _GOOD_ROW_GROUP = 1024 * 1024, 64 * 1024 * 1024
_PORTION = 16 * 1024 * 1024
"""The bytes of rows that are written to a file at a time: about a row group, so that no row group waits for more."""
_OPEN_FILES = 100
"""The max number of open files; operating systems allow about a thousand."""


class AppendWriter:
    """Writes rows of an append table.

    File writers hold rows in memory until they fill a row group, so row groups become smaller with more partitions. If
    the open files still hold more than the write buffer's size, or are too many, those that hold the most are closed
    before they reach their target size.

    Args:
        table: the table.
        sequences: the max sequence number by partition and bucket, for tables with fixed buckets.
        router: assigns rows to buckets, for tables with fixed buckets.
        settings: the options and columns; the table's by default.
    """

    def __init__(
        self,
        table: Table,
        sequences: Mapping[tuple[bytes, int], int] | None = None,
        router: Router | None = None,
        settings: WriteSettings | None = None,
    ) -> None:
        self._table = table
        self._settings = settings or WriteSettings(table.schema)
        self._sequences = sequences or {}
        self._total = self._settings.buckets if self._settings.buckets > 0 else UNAWARE
        self._router = router or Router(table.schema, self._total)
        self._namer = FileNamer(self._settings.file_prefix)
        self._writers: dict[tuple[bytes, int], RollingWriter] = {}
        self._buffers = BucketBuffers(self._settings.buffer_size, self._flush, portion=_PORTION)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows; the columns are those of the data files, in any order."""
        ordered = batch.select(list(self._settings.input_columns))
        for partition, bucket, rows in self._router.split(ordered):
            self._buffers.add((partition, bucket), rows)

    def close(self) -> list[CommitMessage]:
        """Finish all files."""
        self._buffers.flush()
        return [
            CommitMessage(partition, bucket, self._total, new_files=tuple(writer.close()))
            for (partition, bucket), writer in self._writers.items()
        ]

    def abort(self) -> None:
        """Delete all files that were written."""
        for writer in self._writers.values():
            writer.abort()

    def _flush(self, target: tuple[bytes, int], rows: pa.Table) -> None:
        if target not in self._writers:
            self._writers[target] = RollingWriter(
                self._table,
                self._settings,
                *target,
                namer=self._namer,
                first_sequence=self._sequences.get(target, -1) + 1,
                row_group=self._row_group,
            )
        for batch in rows.to_batches():
            self._writers[target].write(batch)
        self._relieve()

    def _row_group(self) -> int | None:
        share = max(_MIN_ROW_GROUP, self._settings.buffer_size // (2 * max(1, len(self._writers))))
        return share if share < _GOOD_ROW_GROUP else None

    def _relieve(self) -> None:
        unfinished = {w: w.unfinished for w in self._writers.values() if w.unfinished}
        in_memory = sum(unfinished.values())
        for writer in sorted(unfinished, key=lambda w: -unfinished[w]):
            if len(unfinished) <= _OPEN_FILES and in_memory <= self._settings.buffer_size:
                return
            writer.finish()
            in_memory -= unfinished.pop(writer)

"""Writing append tables: rows go into files as they come, those of a partition and bucket together."""

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

_LEAST_ROW_GROUP, _GOOD_ROW_GROUP = 1024 * 1024, 64 * 1024 * 1024
_PORTION = 16 * 1024 * 1024
"""Bytes of rows that go to a file at once: about a row group, so that it need not wait for more."""
_OPEN_FILES = 100
"""The most files that are written at the same time; systems allow for a thousand or so."""


class AppendWriter:
    """Writes rows of an append table.

    Files hold rows in memory until they fill a row group, so the more partitions there are the smaller row groups
    become. Should the open files all the same hold more than the write buffer may, or be too many, the fullest are
    closed before they reach their target size.

    Args:
        table: the table.
        sequences: by partition and bucket the greatest sequence number there, for tables with fixed buckets.
        router: says which bucket a row goes to, for tables with fixed buckets.
        settings: how it writes, and which columns; the table's by default.
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
        """Take rows; the columns are those of the data files, in any order."""
        ordered = batch.select(list(self._settings.brought_columns))
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
        """Remove whatever was written."""
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
        share = max(_LEAST_ROW_GROUP, self._settings.buffer_size // (2 * max(1, len(self._writers))))
        return share if share < _GOOD_ROW_GROUP else None

    def _relieve(self) -> None:
        unfinished = {w: w.unfinished for w in self._writers.values() if w.unfinished}
        held = sum(unfinished.values())
        for writer in sorted(unfinished, key=lambda w: -unfinished[w]):
            if len(unfinished) <= _OPEN_FILES and held <= self._settings.buffer_size:
                return
            writer.finish()
            held -= unfinished.pop(writer)

"""Append files rewritten without some of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from paimon_sql.format.index_files.deletion_vectors import DeletionVector
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.read.readers.data_file import read_places
from paimon_sql.storage.read.row_tracking import is_tracked, read_tracked
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.files.rolling import RollingWriter, write_all
from paimon_sql.storage.write.settings import TrackedSettings, WriteSettings

_OPEN_COST = 4 * 1024 * 1024


@dataclass(frozen=True)
class RewriteTask:
    """Files of one bucket that are written anew, each without the rows that a vector names."""

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[tuple[DataFileMeta, DeletionVector], ...]

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(f.file_size for f, _ in self.files)

    def run(self) -> CommitMessage:
        """Write what is left of the files; nobody sees it before the message is committed."""
        left = [(f, gone) for f, gone in self.files if gone.cardinality < f.row_count]
        files = self._write(left) if left else []
        return CommitMessage(
            self.partition,
            self.bucket,
            self.total_buckets,
            new_files=tuple(files),
            deleted_files=tuple(f for f, _ in self.files),
        )

    def _write(self, left: Sequence[tuple[DataFileMeta, DeletionVector]]) -> list[DataFileMeta]:
        settings = (TrackedSettings if is_tracked(self.table.schema) else WriteSettings)(self.table.schema)
        writer = RollingWriter(
            self.table,
            settings,
            self.partition,
            self.bucket,
            namer=FileNamer(settings.file_prefix),
            first_sequence=min(f.min_sequence_number for f, _ in left),
        )
        return write_all(writer, self._rows(left))

    def _rows(self, left: Sequence[tuple[DataFileMeta, DeletionVector]]) -> Iterator[pa.RecordBatch]:
        for file, gone in left:
            reader = read_tracked if is_tracked(self.table.schema) else read_places
            read = reader(self.table, self.partition, self.bucket, file, self.table.schema.names)
            for places, rows in read:
                kept = ~np.isin(places, gone.positions, assume_unique=True)
                if kept.any():
                    yield rows if kept.all() else rows.filter(pa.array(kept))


def run_rewrite(task: RewriteTask) -> CommitMessage:
    """Do a task, as a function that workers can be sent."""
    return task.run()


def plan_rewrite(table: Table, gone: Sequence[tuple[ManifestEntry, DeletionVector]]) -> list[RewriteTask]:
    """The tasks that rewrite files without rows.

    Small files of a bucket come together in one new file where the order of rows between files does not matter, which
    is in tables without buckets.

    Args:
        table: an append table.
        gone: the files, each with all of its rows that must go.
    """
    target = WriteSettings(table.schema).target_file_size
    ordered = sorted(gone, key=lambda g: (g[0].partition, g[0].bucket, g[0].file.min_sequence_number))
    tasks = []
    for (partition, bucket, total), group in groupby(
        ordered, key=lambda g: (g[0].partition, g[0].bucket, g[0].total_buckets)
    ):
        files = [(e.file, vector) for e, vector in group]
        packs = [[f] for f in files] if total > 0 else pack(files, lambda f: f[0].file_size, target, _OPEN_COST)
        tasks += [RewriteTask(table, partition, bucket, total, tuple(files)) for files in packs]
    return tasks

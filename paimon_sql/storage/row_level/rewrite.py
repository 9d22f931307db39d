"""Copy-on-write of append tables: data files rewritten without some of their rows."""

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
from paimon_sql.storage.read.readers.data_file import read_with_positions
from paimon_sql.storage.read.row_tracking import is_tracked, read_tracked
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.files.rolling import RollingWriter, write_all
from paimon_sql.storage.write.settings import TrackedSettings, WriteSettings

_OPEN_COST = 4 * 1024 * 1024


@dataclass(frozen=True)
class RewriteTask:
    """Rewrites files of one bucket, each without the rows of a deletion vector."""

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[tuple[DataFileMeta, DeletionVector], ...]

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f, _ in self.files)

    def run(self) -> CommitMessage:
        """Write the remaining rows to new files, which take effect when the message is committed."""
        remaining = [(f, deleted) for f, deleted in self.files if deleted.cardinality < f.row_count]
        files = self._write(remaining) if remaining else []
        return CommitMessage(
            self.partition,
            self.bucket,
            self.total_buckets,
            new_files=tuple(files),
            deleted_files=tuple(f for f, _ in self.files),
        )

    def _write(self, remaining: Sequence[tuple[DataFileMeta, DeletionVector]]) -> list[DataFileMeta]:
        settings = (TrackedSettings if is_tracked(self.table.schema) else WriteSettings)(self.table.schema)
        writer = RollingWriter(
            self.table,
            settings,
            self.partition,
            self.bucket,
            namer=FileNamer(settings.file_prefix),
            first_sequence=min(f.min_sequence_number for f, _ in remaining),
        )
        return write_all(writer, self._rows(remaining))

    def _rows(self, remaining: Sequence[tuple[DataFileMeta, DeletionVector]]) -> Iterator[pa.RecordBatch]:
        for file, deleted in remaining:
            reader = read_tracked if is_tracked(self.table.schema) else read_with_positions
            read = reader(self.table, self.partition, self.bucket, file, self.table.schema.names)
            for positions, rows in read:
                retained = ~np.isin(positions, deleted.positions, assume_unique=True)
                if retained.any():
                    yield rows if retained.all() else rows.filter(pa.array(retained))


def run_rewrite(task: RewriteTask) -> CommitMessage:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()


def plan_rewrite(table: Table, deletions: Sequence[tuple[ManifestEntry, DeletionVector]]) -> list[RewriteTask]:
    """Plan the tasks that rewrite files without some rows.

    In tables without buckets, where the order of rows between files does not matter, small files are packed into one.

    Args:
        table: an append table.
        deletions: the files, each with all its rows to drop.
    """
    target = WriteSettings(table.schema).target_file_size
    ordered = sorted(deletions, key=lambda g: (g[0].partition, g[0].bucket, g[0].file.min_sequence_number))
    tasks = []
    for (partition, bucket, total), group in groupby(
        ordered, key=lambda g: (g[0].partition, g[0].bucket, g[0].total_buckets)
    ):
        files = [(e.file, vector) for e, vector in group]
        packs = [[f] for f in files] if total > 0 else pack(files, lambda f: f[0].file_size, target, _OPEN_COST)
        tasks += [RewriteTask(table, partition, bucket, total, tuple(files)) for files in packs]
    return tasks

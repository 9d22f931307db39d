"""Files of one bucket of an append table, whose rows are rewritten to new files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.live_files import Deletion, deletions_of
from paimon_sql.storage.read.metadata_columns import rows_to_move
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.rolling import RollingWriter
from paimon_sql.storage.write.settings import WriteSettings, moved_settings


@dataclass(frozen=True)
class BucketFiles:
    """Some files of a bucket; ``deletions`` has their deletion vectors by file name."""

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, Deletion] = field(default_factory=dict)

    @property
    def settings(self) -> WriteSettings:
        """The write settings of the new files."""
        return moved_settings(self.table.schema)

    def select(self, files: Sequence[DataFileMeta]) -> BucketFiles:
        """Select some of these files."""
        vectors = {f.file_name: self.deletions[f.file_name] for f in files if f.file_name in self.deletions}
        return replace(self, files=tuple(files), deletions=vectors)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in order, without deleted ones; with their ids if the table has row tracking."""
        for file in self.files:
            deletion = self.deletions.get(file.file_name)
            for _, rows in rows_to_move(self.table, self.partition, self.bucket, file, deletion=deletion):
                yield rows

    def writer(self, *, source: FileSource = FileSource.APPEND, first_sequence: int = 0) -> RollingWriter:
        """A writer of new files of the bucket."""
        return RollingWriter(
            self.table, self.settings, self.partition, self.bucket, source=source, first_sequence=first_sequence
        )


@dataclass(frozen=True)
class BucketTask:
    """Rewrites some files of a bucket."""

    moved: BucketFiles

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f in self.moved.files)


def by_bucket(table: Table, files: Iterable[ManifestEntry], snapshot: Snapshot | None) -> list[BucketFiles]:
    """Group live files by bucket, with their deletion vectors in a snapshot."""
    grouped: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for e in files:
        grouped.setdefault((e.partition, e.bucket, e.total_buckets), []).append(e.file)
    deletions = deletions_of(table, snapshot)
    found = []
    for (partition, bucket, total), in_bucket in grouped.items():
        keys = {f.file_name: (partition, bucket, f.file_name) for f in in_bucket}
        vectors = {name: deletions[key] for name, key in keys.items() if key in deletions}
        found.append(BucketFiles(table, partition, bucket, total, tuple(in_bucket), vectors))
    return found

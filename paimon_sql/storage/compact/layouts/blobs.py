"""Compaction of blob files: files of the same and of consecutive rows are merged (spec: Blob File).

Replaced values and placeholders are dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.columns.blobs import fields_in_blob_files
from paimon_sql.storage.data_files.bucketed_groups import BucketedGroup
from paimon_sql.storage.data_files.file_groups import is_blob_file, stored_fields
from paimon_sql.storage.read.blob_column import BlobColumn
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.blob_files import BlobColumnWriter
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.settings import WriteSettings

_MIN_FILES = 2


@dataclass(frozen=True)
class BlobTask:
    """Merges several blob files into one.

    Attributes:
        table: the table.
        place: a group of one of the files, for their partition and bucket.
        field: the column.
        files: the files; their rows are consecutive, or the same.
    """

    table: Table
    place: BucketedGroup
    field: DataField
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f in self.files)

    def run(self) -> CommitMessage:
        """Write the new file, which takes effect with the commit; on an error it is deleted."""
        partition, bucket = self.place.partition, self.place.bucket
        first, end = _first(self.files[0]), max(map(_end, self.files))
        # Blobs are copied from their files in chunks, and are never in memory as a whole.
        column = BlobColumn(
            self.table, partition, bucket, self.field, first, end - first, self.files, as_descriptors=True
        )
        settings = WriteSettings(self.table.schema)
        writer = BlobColumnWriter(
            self.table,
            settings,
            self.field,
            partition,
            bucket,
            namer=FileNamer(settings.file_prefix),
            source=FileSource.COMPACT,
            target=sys.maxsize,
            copies=True,
        )
        try:
            for _, values in column.stretches(None):
                writer.write(values.column(0))
            (file,) = writer.finish()
        except BaseException:
            writer.abort()
            raise
        file = replace(
            file,
            first_row_id=first,
            min_sequence_number=min(f.min_sequence_number for f in self.files),
            max_sequence_number=max(f.max_sequence_number for f in self.files),
        )
        return CommitMessage(
            partition, bucket, self.place.total_buckets, compact_before=self.files, compact_after=(file,)
        )


def plan_blob_compaction(table: Table, groups: Sequence[BucketedGroup]) -> list[BlobTask]:
    """Plan the compaction of the blob files of groups of consecutive rows.

    Files of consecutive rows are merged up to ``blob.target-file-size``; a file of that size is not changed, unless
    others have the same rows.
    """
    target = WriteSettings(table.schema).blob_target_file_size
    fields = {f.id: f for f in fields_in_blob_files(table.schema)}
    by_column: dict[int, list[DataFileMeta]] = {}
    for file in (f for bucketed in groups for f in bucketed.group.files if is_blob_file(f.file_name)):
        for column in stored_fields(table.schemas.get(file.schema_id), file):
            if column.id in fields:
                by_column.setdefault(column.id, []).append(file)
    return [
        BlobTask(table, groups[0], fields[field_id], tuple(files))
        for field_id, of_column in by_column.items()
        for files in _packed(sorted(of_column, key=lambda f: (_first(f), f.max_sequence_number)), target)
    ]


def _packed(files: Sequence[DataFileMeta], target: int) -> Iterator[list[DataFileMeta]]:
    """Group files, given in the order of their rows, into those that are merged."""
    pending: list[DataFileMeta] = []
    for same_rows in _of_same_rows(files):
        has_gap = pending and _first(same_rows[0]) != max(map(_end, pending))
        big = len(same_rows) == 1 and same_rows[0].file_size >= target
        if has_gap or big or sum(f.file_size for f in pending) >= target:
            if len(pending) >= _MIN_FILES:
                yield pending
                pending = []
            elif has_gap or big:
                pending = []
        if not big:
            pending = [*pending, *same_rows]
    if len(pending) >= _MIN_FILES:
        yield pending


def _of_same_rows(files: Sequence[DataFileMeta]) -> Iterator[list[DataFileMeta]]:
    """Group files that have rows in common."""
    same_rows: list[DataFileMeta] = []
    end = -1
    for file in files:
        if same_rows and _first(file) >= end:
            yield same_rows
            same_rows = []
        same_rows.append(file)
        end = max(end, _end(file))
    if same_rows:
        yield same_rows


def _first(file: DataFileMeta) -> int:
    assert file.first_row_id is not None
    return file.first_row_id


def _end(file: DataFileMeta) -> int:
    return _first(file) + file.row_count

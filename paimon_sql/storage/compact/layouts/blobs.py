"""The compaction of files of blobs: those of the same and of neighbouring rows become one.

Values that a newer file has replaced go, and so does what newer files say of values that older ones hold.
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

_LEAST_FILES = 2


@dataclass(frozen=True)
class BlobTask:
    """Makes one file of blobs out of several.

    Attributes:
        table: the table.
        place: a group of one of the files, which says where they stand.
        field: the column.
        files: the files; their rows follow one another, or are the same.
    """

    table: Table
    place: BucketedGroup
    field: DataField
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(f.file_size for f in self.files)

    def run(self) -> CommitMessage:
        """Do it; the file made is seen by nobody until the message is committed, and on an error there is none."""
        partition, bucket = self.place.partition, self.place.bucket
        first, end = _first(self.files[0]), max(map(_end, self.files))
        # Blobs are copied from where they lie, and never held whole.
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
            (made,) = writer.finish()
        except BaseException:
            writer.abort()
            raise
        made = replace(
            made,
            first_row_id=first,
            min_sequence_number=min(f.min_sequence_number for f in self.files),
            max_sequence_number=max(f.max_sequence_number for f in self.files),
        )
        return CommitMessage(
            partition, bucket, self.place.total_buckets, compact_before=self.files, compact_after=(made,)
        )


def plan_blob_compaction(table: Table, groups: Sequence[BucketedGroup]) -> list[BlobTask]:
    """The tasks that compact the files of blobs of groups whose rows follow one another.

    Files of rows that follow one another are put together up to ``blob.target-file-size``; one that is as big already
    stays as it is, unless others hold the same rows.
    """
    target = WriteSettings(table.schema).blob_target_file_size
    fields = {f.id: f for f in fields_in_blob_files(table.schema)}
    held: dict[int, list[DataFileMeta]] = {}
    for file in (f for placed in groups for f in placed.group.files if is_blob_file(f.file_name)):
        for column in stored_fields(table.schemas.get(file.schema_id), file):
            if column.id in fields:
                held.setdefault(column.id, []).append(file)
    return [
        BlobTask(table, groups[0], fields[field_id], tuple(files))
        for field_id, whole in held.items()
        for files in _packed(sorted(whole, key=lambda f: (_first(f), f.max_sequence_number)), target)
    ]


def _packed(files: Sequence[DataFileMeta], target: int) -> Iterator[list[DataFileMeta]]:
    """The files, in the order of their rows, that are put together each time."""
    taken: list[DataFileMeta] = []
    for alike in _of_same_rows(files):
        apart = taken and _first(alike[0]) != max(map(_end, taken))
        big = len(alike) == 1 and alike[0].file_size >= target
        if apart or big or sum(f.file_size for f in taken) >= target:
            if len(taken) >= _LEAST_FILES:
                yield taken
                taken = []
            elif apart or big:
                taken = []
        if not big:
            taken = [*taken, *alike]
    if len(taken) >= _LEAST_FILES:
        yield taken


def _of_same_rows(files: Sequence[DataFileMeta]) -> Iterator[list[DataFileMeta]]:
    """The files, those together that have rows in common."""
    held: list[DataFileMeta] = []
    end = -1
    for file in files:
        if held and _first(file) >= end:
            yield held
            held = []
        held.append(file)
        end = max(end, _end(file))
    if held:
        yield held


def _first(file: DataFileMeta) -> int:
    assert file.first_row_id is not None
    return file.first_row_id


def _end(file: DataFileMeta) -> int:
    return _first(file) + file.row_count

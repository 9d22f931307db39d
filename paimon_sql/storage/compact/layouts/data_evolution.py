"""Compaction of tables with data evolution: data and blob files of the same and of consecutive rows are merged.

Rows keep their ids, so a new file has all rows from its first to its last id, deleted ones included, and their deletion
vectors move to it. Dropping deleted rows changes row ids, and is done by `plan_materialization` alone.

Replaced values and placeholders are dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import pyarrow as pa

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.compaction import COMPACTION_MIN_FILE_NUM
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST
from paimon_sql.format.options.table import row_tracking
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.columns.blobs_and_vectors import fields_in_blob_files
from paimon_sql.storage.compact.compaction import EVERYTHING, CompactLayout, PlannedCompaction, Scope, run_tasks
from paimon_sql.storage.data_files.file_groups import (
    FileSet,
    groups_of_files,
    is_blob_file,
    is_dedicated,
    stored_fields,
)
from paimon_sql.storage.data_files.live_files import (
    BucketedGroup,
    Deletion,
    bucketed_groups_of,
    deletions_of,
    grouped,
    live_files,
)
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.read.blobs import BlobColumn
from paimon_sql.storage.read.readers.data_evolution import GroupReader
from paimon_sql.storage.row_level.columns import column_ids, row_range
from paimon_sql.storage.row_level.vectors import change_vectors
from paimon_sql.storage.scan.global_index.entries import global_entries
from paimon_sql.storage.scan.split import deletions_in, pack
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import BlobColumnWriter, RollingWriter, aborted_on_error, write_all
from paimon_sql.storage.write.settings import ColumnSettings, FileNamer, WriteSettings


@dataclass(frozen=True)
class DataEvolutionTask:
    """Merges groups of files of one bucket.

    Attributes:
        table: the table.
        groups: the groups, in the order of their row ids.
        deletions: their deletion vectors, by name of the groups' oldest files.
        renumbers: whether deleted rows are dropped and the others get new ids; otherwise the groups' rows are
            consecutive, and all are kept.
    """

    table: Table
    groups: tuple[BucketedGroup, ...]
    deletions: Mapping[str, Deletion] = field(default_factory=dict)
    renumbers: bool = False

    @property
    def files(self) -> list[DataFileMeta]:
        """The files to replace."""
        remains = is_dedicated if self._vectors_remain() else is_blob_file
        return [f for f in self._all_files if self.renumbers or not remains(f.file_name)]

    @property
    def _all_files(self) -> list[DataFileMeta]:
        return [f for bucketed in self.groups for f in bucketed.group.files]

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f in self.files)

    def run(self) -> CommitMessage:
        """Write the new files, which take effect with the commit; on an error they are deleted."""
        first = self.groups[0]
        columns, settings = self._columns(), WriteSettings(self.table.schema)
        if not self.renumbers:
            settings = ColumnSettings(self.table.schema, columns)
        source = FileSource.APPEND if self.renumbers else FileSource.COMPACT
        writer = RollingWriter(self.table, settings, first.partition, first.bucket, source=source, copies_blobs=True)
        after = tuple(write_all(writer, self._rows(columns)))
        if not self.renumbers:
            after = (self._with_row_ids(after[0], columns),)
        before = tuple(self.files)
        return CommitMessage(
            first.partition, first.bucket, first.total_buckets, compact_before=before, compact_after=after
        )

    def _columns(self) -> tuple[str, ...]:
        """The columns to write; those in dedicated files remain there if rows keep their ids."""
        if self.renumbers:
            return tuple(self.table.schema.names)
        vectors = self._vector_columns(self._all_files) if self._vectors_remain() else frozenset()
        blobs = {f.id for f in fields_in_blob_files(self.table.schema)}
        return tuple(f.name for f in self.table.schema.fields if f.id not in vectors | blobs)

    def _vectors_remain(self) -> bool:
        """Whether vector files are the newest files of the same columns in all groups, so that they can remain."""
        vector_columns = [self._vector_columns(bucketed.group.files) for bucketed in self.groups]
        others = (f for f in self._all_files if not is_dedicated(f.file_name))
        held_by_others = (vector_columns[0] & column_ids(self.table, file) for file in others)
        return len(set(vector_columns)) == 1 and not any(held_by_others)

    def _vector_columns(self, files: Sequence[DataFileMeta]) -> frozenset[int]:
        """The ids of the columns of vector files."""
        vectors = (f for f in files if is_dedicated(f.file_name) and not is_blob_file(f.file_name))
        return frozenset().union(*(column_ids(self.table, file) for file in vectors))

    def _rows(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # The writer gets blob descriptors and copies the blobs in chunks, never in memory as a whole.
        table = self.table.with_options({row_tracking.BLOB_AS_DESCRIPTOR.key: "true"})
        for bucketed in self.groups:
            deletion = self.deletions.get(bucketed.group.anchor.file_name) if self.renumbers else None
            reader = GroupReader(table, bucketed.partition, bucketed.bucket, bucketed.group)
            yield from (rows for _, rows in reader.read(columns, deletion=deletion) if rows.num_rows)

    def _with_row_ids(self, file: DataFileMeta, columns: Sequence[str]) -> DataFileMeta:
        """The new file with the row ids and the range of sequence numbers of the replaced files."""
        assert file.row_count == sum(bucketed.group.row_count for bucketed in self.groups)
        has_all_columns = len(columns) == len(self.table.schema.names)
        return replace(
            _in_place_of(self.files, file, self.groups[0].group.first_row_id),
            write_cols=None if has_all_columns else tuple(columns),
            value_stats_cols=None
            if has_all_columns and len(file.value_stats_cols or ()) == len(columns)
            else file.value_stats_cols,
        )

    def moved_vector(self, table: Table) -> DeletionVector | None:
        """The positions of the deleted rows in the new file; None without any."""
        positions, start = [], 0
        for bucketed in self.groups:
            deletion = self.deletions.get(bucketed.group.anchor.file_name)
            if deletion is not None:
                positions.append(np.asarray(deletion.read(table.file_io).positions, dtype=np.int64) + start)
            start += bucketed.group.row_count
        return DeletionVector(np.concatenate(positions)) if positions else None


def plan_data_evolution_compaction(
    table: Table, base: Snapshot | None, scope: Scope
) -> list[DataEvolutionTask | BlobTask]:
    """Plan the compaction of a snapshot of a table with data evolution.

    Groups of consecutive rows are packed up to the target file size, a bigger group alone, and are merged if they have
    at least ``compaction.min.file-num`` files. Blob files are compacted only with ``blob-compaction.enabled``.

    Raises:
        InvalidOptionError: the table's options require compactions that change row ids.
    """
    if table.options.get(row_tracking.DATA_EVOLUTION_COMPACTION_REWRITE_ROW_IDS):
        key = row_tracking.DATA_EVOLUTION_COMPACTION_REWRITE_ROW_IDS.key
        raise InvalidOptionError(
            f"'{key}' = 'true' is no longer supported: compactions keep row ids.",
            key=key,
            remedy="CALL sys.materialize_deletion_vectors to remove deleted rows.",
        )
    target, min_files = WriteSettings(table.schema).target_file_size, table.options.get(COMPACTION_MIN_FILE_NUM)
    open_cost = table.options.get(SOURCE_SPLIT_OPEN_FILE_COST)
    deletions = deletions_of(table, base)
    tasks: list[DataEvolutionTask | BlobTask] = []
    for run in _runs(bucketed_groups_of(table, scope.of(table, live_files(table, base).entries))):
        for packed in pack(run, lambda p: p.group.size_of_rows, target, open_cost):
            task = _task(table, packed, deletions)
            merges = len(task.files) >= max(min_files, 2)
            if merges:
                tasks.append(task)
            if table.options.get(row_tracking.BLOB_COMPACTION_ENABLED):
                for groups in [packed] if merges else [[group] for group in packed]:
                    tasks += plan_blob_compaction(table, groups)
    return tasks


def plan_materialization(table: Table, base: Snapshot | None, scope: Scope = EVERYTHING) -> list[DataEvolutionTask]:
    """Plan the tasks that rewrite all groups with deleted rows in a snapshot, without these rows and with new ids."""
    target, open_cost = WriteSettings(table.schema).target_file_size, table.options.get(SOURCE_SPLIT_OPEN_FILE_COST)
    deletions = deletions_of(table, base)
    marked = [
        p
        for p in bucketed_groups_of(table, scope.of(table, live_files(table, base).entries))
        if (p.partition, p.bucket, p.group.anchor.file_name) in deletions
    ]
    ordered = sorted(marked, key=lambda p: (p.partition, p.bucket, p.group.first_row_id))
    return [
        replace(_task(table, packed, deletions), renumbers=True)
        for _, of_bucket in groupby(ordered, key=lambda p: (p.partition, p.bucket))
        for packed in pack(of_bucket, lambda p: p.group.size_of_rows, target, open_cost)
    ]


def _in_place_of(replaced: Sequence[DataFileMeta], file: DataFileMeta, first_row_id: int) -> DataFileMeta:
    """A new file with row ids, and with the range of sequence numbers of the replaced files."""
    low, high = min(f.min_sequence_number for f in replaced), max(f.max_sequence_number for f in replaced)
    return replace(file, first_row_id=first_row_id, min_sequence_number=low, max_sequence_number=high)


def _task(
    table: Table, groups: Sequence[BucketedGroup], deletions: Mapping[tuple[bytes, int, str], Deletion]
) -> DataEvolutionTask:
    bucket = groups[0].partition, groups[0].bucket
    return DataEvolutionTask(table, tuple(groups), deletions_in(deletions, bucket, (p.group.anchor for p in groups)))


def _runs(groups: Sequence[BucketedGroup]) -> Iterator[list[BucketedGroup]]:
    """The groups of each bucket, divided where row ids are not consecutive."""
    run: list[BucketedGroup] = []
    for p in sorted(groups, key=lambda p: (p.partition, p.bucket, p.group.first_row_id)):
        if run:
            last = run[-1]
            end = last.group.first_row_id + last.group.row_count
            if (last.partition, last.bucket, end) != (p.partition, p.bucket, p.group.first_row_id):
                yield run
                run = []
        run.append(p)
    if run:
        yield run


def run_evolved(
    table: Table, executor: Executor, base: Snapshot | None, tasks: Sequence[DataEvolutionTask | BlobTask]
) -> list[CommitMessage]:
    """Run the tasks, and return what to commit; if one fails, the files of all are deleted.

    Args:
        table: the table.
        executor: runs the tasks.
        base: the snapshot that they were planned on.
        tasks: the tasks.
    """
    with StagedFiles(table) as staged:
        messages = staged.own(run_tasks(table, executor, tasks))
        # Deletion vectors move to new files, or are dropped with their rows; so are indexes of rows with new ids.
        vectors: dict[tuple[bytes, int, int], dict[str, DeletionVector | None]] = {}
        renumbered: set[bytes] = set()
        for task, message in zip(tasks, messages, strict=True):
            if not isinstance(task, DataEvolutionTask):
                continue
            if task.renumbers:
                renumbered.add(message.partition)
            if task.deletions:
                changed = vectors.setdefault((message.partition, message.bucket, message.total_buckets), {})
                changed |= dict.fromkeys(task.deletions)
                if not task.renumbers:
                    changed[message.compact_after[0].file_name] = task.moved_vector(table)
        moved = [m.with_compacted_indexes() for m in change_vectors(table, base, vectors)]
        stale = [e for e in global_entries(table, base) if e.partition in renumbered] if renumbered else []
        dropped = [CommitMessage(e.partition, e.bucket, 1, compact_deleted_indexes=(e.file,)) for e in stale]
        staged.release_all()
        return [*messages, *moved, *dropped]


class GroupCompactions(CompactLayout):
    """Compactions of tables with data evolution, on demand only."""

    def plan_compaction(
        self, table: Table, base: Snapshot | None, *, full: bool, scope: Scope, is_explicit: bool
    ) -> PlannedCompaction:
        pieces = plan_data_evolution_compaction(table, base, scope)
        return PlannedCompaction(
            [f for task in pieces for f in task.files], lambda executor: run_evolved(table, executor, base, pieces)
        )


_MIN_FILES = 2


@dataclass(frozen=True)
class BlobTask(FileSet):
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

    def run(self) -> CommitMessage:
        """Write the new file, which takes effect with the commit; on an error it is deleted."""
        partition, bucket = self.place.partition, self.place.bucket
        first, end = _first(self.files[0]), max(map(_end, self.files))
        # Blobs are copied from their files in chunks, and are never in memory as a whole.
        table, settings = self.table, WriteSettings(self.table.schema)
        column = BlobColumn(table, partition, bucket, self.field, first, end - first, self.files, as_descriptors=True)
        namer, source = FileNamer(settings.file_prefix), FileSource.COMPACT
        place = (partition, bucket)
        writer = BlobColumnWriter(
            table, settings, self.field, *place, namer=namer, source=source, target=sys.maxsize, copies=True
        )
        with aborted_on_error(writer):
            for _, values in column.stretches(None):
                writer.write(values.column(0))
            (file,) = writer.finish()
        file = _in_place_of(self.files, file, first)
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
    files = (f for bucketed in groups for f in bucketed.group.files if is_blob_file(f.file_name))
    stored = ((column.id, f) for f in files for column in stored_fields(table.schemas.get(f.schema_id), f))
    by_column = grouped((field_id, f) for field_id, f in stored if field_id in fields)
    return [
        BlobTask(table, groups[0], fields[field_id], tuple(pack))
        for field_id, of_column in by_column.items()
        for pack in _packed(sorted(of_column, key=lambda f: (_first(f), f.max_sequence_number)), target)
    ]


def _packed(files: Sequence[DataFileMeta], target: int) -> Iterator[list[DataFileMeta]]:
    """Group files, given in the order of their rows, into those that are merged."""
    pending: list[DataFileMeta] = []
    for same_rows in grouped(zip(groups_of_files(files), files, strict=True)).values():
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


def _first(file: DataFileMeta) -> int:
    return row_range(file)[0]


def _end(file: DataFileMeta) -> int:
    return row_range(file)[1]

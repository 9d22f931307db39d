"""One attempt at a commit: manifests and a snapshot on top of the latest snapshot."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from paimon_sql.errors import CorruptFileError, PaimonError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Operation, Snapshot
from paimon_sql.format.options.operations.commit import END_INPUT_WATERMARK, MANIFEST_DELETE_FILE_DROP_STATS
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED, ROW_TRACKING_PARTITION_GROUP_ON_COMMIT
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.commit.snapshot.carried_properties import carried_properties
from paimon_sql.storage.commit.snapshot.manifests import merge_manifests, next_index_manifest
from paimon_sql.storage.data_files.file_groups import is_dedicated
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.materialized.refresh import inherited_properties
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots, numbered_by_snapshot
from paimon_sql.storage.metadata.snapshots import WRITER_VERSION, Rollback, with_generation
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.statistics import inherited_statistics
from paimon_sql.storage.table.table import Table


def numbered(
    entries: Sequence[ManifestEntry], snapshot: int, next_row_id: int, *, by_partition: bool
) -> tuple[list[ManifestEntry], int]:
    """Assign row ids to the new rows of entries; return the entries and the next free row id.

    Files of new rows get consecutive ids, and the snapshot as their sequence number. Files of moved rows keep their
    sequence numbers, of which 0 means this snapshot.

    Args:
        entries: the entries, in the order of the manifest.
        snapshot: the snapshot id.
        next_row_id: the next free row id.
        by_partition: whether to group entries by partition, so that ids are consecutive there.
    """
    ordered = list(entries)
    if by_partition:
        ranks = {partition: n for n, partition in enumerate(dict.fromkeys(e.partition for e in entries))}
        ordered.sort(key=lambda e: ranks[e.partition])
    found = []
    # Blob files follow the data file of their rows, those of each column in row order.
    next_blob_ids: dict[str, int] = {}
    data_first_id = next_row_id
    for entry in ordered:
        if entry.kind is FileKind.ADD:
            file = entry.file
            if _is_new(file) and is_dedicated(file.file_name):
                column = (file.write_cols or ("",))[0]
                first = next_blob_ids.get(column, data_first_id)
                next_blob_ids[column] = first + file.row_count
                file = replace(file, min_sequence_number=0, max_sequence_number=0, first_row_id=first)
            elif _is_new(file):
                data_first_id, next_blob_ids = next_row_id, {}
                file = replace(file, min_sequence_number=0, max_sequence_number=0, first_row_id=next_row_id)
                next_row_id += file.row_count
            entry = replace(entry, file=_of_snapshot(file, snapshot))
        found.append(entry)
    return found, next_row_id


def _is_new(file: DataFileMeta) -> bool:
    moved = file.write_cols is not None and ROW_ID.name in file.write_cols
    return file.file_source != FileSource.COMPACT and file.first_row_id is None and not moved


def _of_snapshot(file: DataFileMeta, snapshot: int) -> DataFileMeta:
    low, high = file.min_sequence_number, file.max_sequence_number
    return replace(file, min_sequence_number=low or snapshot, max_sequence_number=high or snapshot)


Merge = Callable[[Table, Sequence[ManifestFileMeta], list[str]], list[ManifestFileMeta]]
"""Takes the table, the manifests of a snapshot and a list to add written files to; returns the new manifests."""
_MAX_LONG = 2**63 - 1
"""The max value of a 64-bit integer in the format."""


@dataclass(frozen=True)
class Author:
    """The author fields of a snapshot: commit user and identifier, operation, properties."""

    commit_user: str
    commit_identifier: int
    operation: Operation | None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Attempt:
    """Writes the manifests of a snapshot, and deletes them if it is not committed.

    Attributes:
        table: the table.
        author: who commits.
        merge: merges manifests, as `merge_manifests` does.
        rewind: the last rewind of the table's history before the attempt.
        files: the names of the written files.
    """

    table: Table
    author: Author
    merge: Merge = merge_manifests
    rewind: Rollback | None = None
    files: list[str] = field(default_factory=list)

    def prepare(self, kind: CommitKind, latest: Snapshot | None, changes: Changes, staged: Iterable[str]) -> Snapshot:
        """Build the snapshot of changes on top of the latest one; all of its files are durable, or on errors deleted.

        Args:
            kind: the kind of the commit.
            latest: the newest snapshot.
            changes: the changes.
            staged: the paths of the files of the changes.
        """
        try:
            snapshot = self._prepare(kind, latest, changes)
            self.table.file_io.sync([*staged, *self._paths()], self.table.path)
            return snapshot
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Delete the manifests; errors are ignored, as nothing refers to them."""
        with suppress(PaimonError, OSError):
            self.table.file_io.delete_many(self._paths())

    def _paths(self) -> list[str]:
        return [self.table.manifests.path(name) for name in self.files]

    def _prepare(self, kind: CommitKind, latest: Snapshot | None, changes: Changes) -> Snapshot:
        entries, next_row_id = list(changes.entries), latest.next_row_id if latest else 0
        snapshot_id = FIRST_SNAPSHOT_ID if latest is None else latest.id + 1
        options = self.table.options
        if options.get(ROW_TRACKING_ENABLED):
            by_partition = options.get(ROW_TRACKING_PARTITION_GROUP_ON_COMMIT)
            first_free = max(next_row_id or 0, changes.taken_row_ids)
            entries, next_row_id = numbered(entries, snapshot_id, first_free, by_partition=by_partition)
        if kind is not CommitKind.COMPACT and is_ordered_by_snapshots(self.table.schema):
            entries = numbered_by_snapshot(entries, snapshot_id)
        if options.get(MANIFEST_DELETE_FILE_DROP_STATS):
            delete = FileKind.DELETE
            entries = [replace(e, file=e.file.without_stats()) if e.kind is delete else e for e in entries]
        added = sum(_rows(e) for e in entries)
        total = (latest.total_record_count or 0 if latest else 0) + added
        if latest is not None and max(next_row_id or 0, total) > _MAX_LONG:
            raise CorruptFileError(
                "its row counts or row ids are so large that those of this commit overflow",
                path=self.table.snapshots.directory.path(latest.id),
            )
        base = self.merge(self.table, manifests_of(self.table, latest), self.files) if latest else []
        base_list, base_size = self._write_list(base)
        delta_list, delta_size = self._write_list([self._write_manifest(entries)] if entries else [])
        changelog_list = changelog_size = None
        if changes.changelog:
            changelog_list, changelog_size = self._write_list([self._write_manifest(changes.changelog)])
        properties = {
            **inherited_properties(kind, latest),
            **self.author.properties,
            **carried_properties(self.table, latest, self.author.properties),
        }
        return Snapshot(
            id=snapshot_id,
            uuid=str(uuid.uuid4()),
            schema_id=self.table.schema.id,
            base_manifest_list=base_list,
            base_manifest_list_size=base_size,
            delta_manifest_list=delta_list,
            delta_manifest_list_size=delta_size,
            changelog_manifest_list=changelog_list,
            changelog_manifest_list_size=changelog_size,
            index_manifest=next_index_manifest(self.table, latest, changes.indexes, self.files),
            commit_user=self.author.commit_user,
            commit_identifier=self.author.commit_identifier,
            commit_kind=kind,
            time_millis=max(current_millis(), latest.time_millis if latest else 0),  # time travel searches by halves
            total_record_count=total,
            delta_record_count=added,
            changelog_record_count=sum(e.file.row_count for e in changes.changelog) if changes.changelog else None,
            watermark=self._watermark(latest),
            statistics=changes.statistics or inherited_statistics(self.table, latest),
            properties=with_generation(properties, snapshot_id, self.rewind, self.table.branch) or None,
            next_row_id=next_row_id,
            operation=self.author.operation,
            writer_version=WRITER_VERSION,
        )

    def _watermark(self, latest: Snapshot | None) -> int | None:
        """Return the writer's watermark, which is never below that of the previous snapshot."""
        given: int | None = self.table.options.get(END_INPUT_WATERMARK)
        watermarks = [w for w in (given, latest.watermark if latest else None) if w is not None]
        return max(watermarks, default=None)

    def _write_manifest(self, entries: list[ManifestEntry]) -> ManifestFileMeta:
        meta = self.table.manifests.write(entries, self.table.schema.id)
        self.files.append(meta.file_name)
        return meta

    def _write_list(self, metas: list[ManifestFileMeta]) -> tuple[str, int]:
        name, size = self.table.manifests.write_list(metas)
        self.files.append(name)
        return name, size


def _rows(entry: ManifestEntry) -> int:
    return entry.file.row_count if entry.kind == FileKind.ADD else -entry.file.row_count

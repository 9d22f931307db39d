"""One attempt at a commit: the manifests of the next snapshot, and the snapshot on top of the latest one.

Small manifests are merged, entries are sorted, changes of index files are added.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, InvalidOptionError, PaimonError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, HASH_INDEX, IndexManifestEntry, combine
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, ManifestFileMeta, merge_entries
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Operation, Snapshot
from paimon_sql.format.options.operations import commit as commit_options
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED, ROW_TRACKING_PARTITION_GROUP_ON_COMMIT
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.commit.snapshot.carried_properties import carried_properties
from paimon_sql.storage.commit.snapshot.snapshot_commit import Prepared
from paimon_sql.storage.data_files.file_groups import is_dedicated
from paimon_sql.storage.data_files.live_files import manifests_of, values_of_partitions
from paimon_sql.storage.materialized.refresh import inherited_properties
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots, numbered_by_snapshot
from paimon_sql.storage.metadata.snapshots import WRITER_VERSION, Rollback, with_generation
from paimon_sql.storage.retention.retained_references import file_names, with_kind
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import conflict_error
from paimon_sql.storage.table.index_files import has_buckets, index_entries
from paimon_sql.storage.table.statistics import inherited_statistics
from paimon_sql.storage.table.table import Table


def sort_column(table: Table) -> str | None:
    """Return the partition column to sort by, by default the first; None for no order.

    Raises:
        InvalidOptionError: the option names another column.
    """
    partitions = table.schema.partition_keys
    if not table.options.get(commit_options.MANIFEST_SORT_ENABLED) or not partitions:
        return None
    name: str = table.options.get(commit_options.MANIFEST_SORT_PARTITION_FIELD) or partitions[0]
    if name not in partitions:
        key = commit_options.MANIFEST_SORT_PARTITION_FIELD.key
        raise InvalidOptionError(
            f"'{key}' is '{name}', which is not a partition column of {table.name}.",
            key=key,
            remedy=f"Those are {', '.join(partitions)}.",
        )
    return name


def in_order(table: Table, entries: pa.Table) -> pa.Table:
    """Sort the entries if enabled; those of a partition stay in commit order."""
    column = sort_column(table)
    if column is None or not len(entries):
        return entries
    return entries.take(pc.sort_indices(values_of_partitions(table, entries, column)))


def ranges(table: Table, column: str, manifests: Sequence[pa.Table]) -> npt.NDArray[np.int64]:
    """Return the ranks of each manifest's min and max value of a partition column, as two columns.

    Empty manifests have the range 0 to 0, like those of the min value.
    """
    values = values_of_partitions(table, pa.concat_tables(manifests), column)
    order = pc.sort_indices(values).to_numpy()
    ranked = values.take(pa.array(order)).dictionary_encode(null_encoding="encode")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = ranked.indices.to_numpy()
    ends = np.cumsum([len(m) for m in manifests])
    parts = np.split(ranks, ends[:-1])
    return np.array([(p.min(), p.max()) if len(p) else (0, 0) for p in parts], np.int64).reshape(-1, 2)


def merge_manifests(table: Table, manifests: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    """Merge small manifests once there are enough of them (Paimon: `ManifestFileMerger`).

    Args:
        table: the table.
        manifests: the manifests in commit order.
        written: the names of written manifests are added to it, even if an error follows.

    Returns:
        Manifests with the same live files.
    """
    target = table.options.get(commit_options.MANIFEST_TARGET_FILE_SIZE)
    min_count = table.options.get(commit_options.MANIFEST_MERGE_MIN_COUNT)
    threshold = table.options.get(commit_options.MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE)
    fully_merged = _merge_fully(table, manifests, target, threshold, written)
    if fully_merged is not None:
        return fully_merged
    result: list[ManifestFileMeta] = []
    pending: list[ManifestFileMeta] = []
    size = 0
    for manifest in manifests:
        pending.append(manifest)
        size += manifest.file_size
        if size >= target:
            result.extend(_rewrite(table, pending, written))
            pending, size = [], 0
    result.extend(_rewrite(table, pending, written) if len(pending) >= min_count else pending)
    return result


def _rewrite(table: Table, group: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    """Merge consecutive manifests into one; entries that delete files of earlier manifests are kept."""
    if len(group) < 2:
        return list(group)
    entries = merge_entries(table.manifests.read_all([m.file_name for m in group]), unmatched="keep")
    return _write(table, entries, written)


def _merge_fully(
    table: Table, manifests: Sequence[ManifestFileMeta], target: int, threshold: int, written: list[str]
) -> list[ManifestFileMeta] | None:
    """Drop deleted files from manifests, if enough of these are small or contain deletes; otherwise None.

    A big manifest without a file that another deletes is kept.
    """
    if sum(m.file_size for m in manifests if m.num_deleted_files > 0 or m.file_size < target) < threshold:
        return None
    tables = table.manifests.read_all([m.file_name for m in manifests])
    deleted = file_names(with_kind(t, FileKind.DELETE) for t in tables)
    unchanged: list[ManifestFileMeta] = []
    rest: list[pa.Table] = []
    for meta, entries in zip(manifests, tables, strict=True):
        changing = meta.num_deleted_files > 0 or meta.file_size < target
        if changing or pc.any(pc.is_in(entries["file_name"], value_set=deleted)).as_py():
            rest.append(entries)
        else:
            unchanged.append(meta)
    return [*unchanged, *(_write(table, merge_entries(rest), written, target) if rest else [])]


def parts_by_size(table: Table, entries: pa.Table, target: int) -> list[pa.Table]:
    """Split entries into manifests of about the target size in bytes; none without entries."""
    if not len(entries):
        return []
    # Entries are smaller on disk than in memory: only measure those that are many times too big in memory.
    size = table.manifests.measure(entries) if entries.nbytes > 2 * target else 0
    if size <= 2 * target:
        return [entries]
    step = max(1, len(entries) * target // size)
    return [entries.slice(first, step) for first in range(0, len(entries), step)]


def _write(table: Table, entries: pa.Table, written: list[str], target: int | None = None) -> list[ManifestFileMeta]:
    ordered = in_order(table, entries)
    metas = []
    for part in parts_by_size(table, ordered, target) if target is not None else [ordered]:
        if len(part):
            metas.append(table.manifests.write(part, table.schema.id))
            written.append(metas[-1].file_name)
    return metas


_ONE_PER_BUCKET = (HASH_INDEX, DELETION_VECTORS_INDEX)


def next_index_manifest(
    table: Table, latest: Snapshot | None, changes: Sequence[IndexManifestEntry], made: list[str]
) -> str | None:
    """Write the index manifest of a snapshot on top of the latest one; return its name.

    Args:
        table: the table.
        latest: the snapshot to build on.
        changes: the added and deleted index files.
        made: the name of a written manifest is added to it.

    Raises:
        CommitConflictError: a concurrent commit changed an index that the changes replace.
    """
    if not changes:
        return latest.index_manifest if latest else None
    before = index_entries(table, latest)
    unaware = not has_buckets(table)
    _check(table, before, changes, unaware=unaware)
    after = combine(before, changes, bucket_unaware=unaware)
    name = table.manifests.write_indexes(after)
    made.append(name)
    return name


def indexes_of_partitions(
    table: Table, latest: Snapshot | None, partitions: frozenset[bytes]
) -> list[IndexManifestEntry]:
    """Return the DELETE entries of the index files of deleted partitions."""
    return [e.as_delete() for e in index_entries(table, latest) if e.partition in partitions]


def _check(
    table: Table, before: Sequence[IndexManifestEntry], changes: Sequence[IndexManifestEntry], *, unaware: bool
) -> None:
    existing = {e.file.file_name for e in before}
    deleted = {e.file.file_name for e in changes if e.kind is FileKind.DELETE}
    stale = deleted - existing
    if not unaware:
        added = {_owner(e) for e in changes if e.kind is FileKind.ADD and e.file.index_type in _ONE_PER_BUCKET}
        stale |= {e.file.file_name for e in before if _owner(e) in added} - deleted
    if stale:
        what = f"another job concurrently changed the index file {min(stale)}, or that of its bucket."
        raise conflict_error(table, what)


def _owner(entry: IndexManifestEntry) -> tuple[str, bytes, int]:
    return entry.file.index_type, entry.partition, entry.bucket


Merge = Callable[[Table, Sequence[ManifestFileMeta], list[str]], list[ManifestFileMeta]]
"""Takes the table, the manifests of a snapshot and a list to add written files to; returns the new manifests."""
_MAX_LONG = 2**63 - 1
"""The max value of a 64-bit integer in the format."""


@dataclass
class Attempt:
    """Writes the manifests of a snapshot, and deletes them if it is not committed.

    Attributes:
        table: the table.
        commit_user: who commits.
        commit_identifier: which of the user's commits it is.
        operation: the operation to record.
        properties: further properties of the snapshot.
        merge: merges manifests, as `merge_manifests` does.
        rewind: the last rewind of the table's history before the attempt.
        files: the names of the written files.
    """

    table: Table
    commit_user: str
    commit_identifier: int
    operation: Operation | None
    properties: Mapping[str, str]
    merge: Merge
    rewind: Rollback | None
    files: list[str] = field(default_factory=list)

    def prepare(self, kind: CommitKind, latest: Snapshot | None, changes: Changes, staged: Iterable[str]) -> Prepared:
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
            return Prepared(snapshot, latest, changes.entries)
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
        if options.get(commit_options.MANIFEST_DELETE_FILE_DROP_STATS):
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
            **self.properties,
            **carried_properties(self.table, latest, self.properties),
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
            commit_user=self.commit_user,
            commit_identifier=self.commit_identifier,
            commit_kind=kind,
            time_millis=max(current_millis(), latest.time_millis if latest else 0),  # time travel searches by halves
            total_record_count=total,
            delta_record_count=added,
            changelog_record_count=sum(e.file.row_count for e in changes.changelog) if changes.changelog else None,
            watermark=self._watermark(latest),
            statistics=changes.statistics or inherited_statistics(self.table, latest),
            properties=with_generation(properties, snapshot_id, self.rewind, self.table.branch) or None,
            next_row_id=next_row_id,
            operation=self.operation,
            writer_version=WRITER_VERSION,
        )

    def _watermark(self, latest: Snapshot | None) -> int | None:
        """Return the writer's watermark, which is never below that of the previous snapshot."""
        given: int | None = self.table.options.get(commit_options.END_INPUT_WATERMARK)
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
            if not _is_new(file):
                low, high = file.min_sequence_number or snapshot, file.max_sequence_number or snapshot
                file = replace(file, min_sequence_number=low, max_sequence_number=high)
            else:
                if is_dedicated(file.file_name):
                    column = (file.write_cols or ("",))[0]
                    first = next_blob_ids.get(column, data_first_id)
                    next_blob_ids[column] = first + file.row_count
                else:
                    first = data_first_id = next_row_id
                    next_blob_ids, next_row_id = {}, next_row_id + file.row_count
                file = replace(file, min_sequence_number=snapshot, max_sequence_number=snapshot, first_row_id=first)
            entry = replace(entry, file=file)
        found.append(entry)
    return found, next_row_id


def _is_new(file: DataFileMeta) -> bool:
    moved = file.write_cols is not None and ROW_ID.name in file.write_cols
    return file.file_source != FileSource.COMPACT and file.first_row_id is None and not moved

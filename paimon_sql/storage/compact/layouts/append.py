"""Compaction of append tables: small files are packed into bigger ones, and deleted rows dropped.

Rows of a table without buckets have no order, so files are packed by size. In fixed buckets rows keep their order, so
only consecutive files are packed (spec: Append Table, Compaction).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations import compaction
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.storage.compact.compaction import CompactLayout, PlannedCompaction, Run, Scope, run_tasks, touched_files
from paimon_sql.storage.compact.layouts.clustered import BucketTask, by_bucket, cluster_tasks, plan_clustering
from paimon_sql.storage.data_files.live_files import Deletion, live_files
from paimon_sql.storage.row_level.vectors import drop_vectors
from paimon_sql.storage.staging.commit_messages import CommitMessage, compact_changes
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.clustering.clustering import clusters
from paimon_sql.storage.write.settings import WriteSettings

_FEW = 3
"""The min number of files for a full compaction of a bucket, as in Apache Paimon."""


def plan_append_compaction(table: Table, base: Snapshot | None, *, full: bool, scope: Scope) -> list[BucketTask]:
    """Plan the compaction of an append table.

    Args:
        table: the table.
        base: the latest snapshot.
        full: whether fixed buckets are packed as far as possible; otherwise only what is due.
        scope: the buckets to compact.
    """
    live = scope.of(table, live_files(table, base).entries)
    return _tasks(table, entries(live), base, full=full)


def with_vectors(table: Table, base: Snapshot | None, messages: Sequence[CommitMessage]) -> list[CommitMessage]:
    """Return the messages of append compactions, and those that drop the deletion vectors of the replaced files.

    Args:
        table: the table.
        base: a snapshot from before the compactions were planned: later vectors must not be dropped.
        messages: the messages.
    """
    replaced = [e for e in compact_changes(messages).entries if e.kind is FileKind.DELETE]
    return [*messages, *(m.with_compacted_indexes() for m in drop_vectors(table, base, replaced))]


def _tasks(table: Table, files: Iterable[ManifestEntry], base: Snapshot | None, *, full: bool) -> list[BucketTask]:
    packing = _Packing(table)
    tasks = []
    packs: Iterable[list[DataFileMeta]]
    for bucket in by_bucket(table, files, base):
        if table.options.get(BUCKET) <= 0:
            packs = packing.unordered(bucket.files, bucket.deletions)
        else:
            all_files = list(packing.whole(bucket.files, bucket.deletions)) if full else []
            packs = all_files or packing.neighbours(bucket.files)
        tasks += [bucket.select(pack) for pack in packs]
    return tasks


class _Packing:
    """Packs the files of a bucket, by the table's options.

    (Paimon: `AppendCompactCoordinator` without buckets, `BucketedAppendCompactManager` in fixed ones)
    """

    def __init__(self, table: Table) -> None:
        options = table.options
        self._target = WriteSettings(table.schema).target_file_size
        self._small = self._target * options.get(compaction.COMPACTION_SMALL_FILE_RATIO)
        self._min_files = options.get(compaction.COMPACTION_MIN_FILE_NUM)
        self._max_delete_ratio = options.get(compaction.COMPACTION_DELETE_RATIO_THRESHOLD)
        self._open_cost = options.get(SOURCE_SPLIT_OPEN_FILE_COST)

    def unordered(
        self, files: Sequence[DataFileMeta], deletions: Mapping[str, Deletion]
    ) -> Iterator[list[DataFileMeta]]:
        """Small files, smallest first; files with deleted rows: small ones, and big ones above the delete ratio."""
        stale = [f for f in files if f.file_name in deletions and self._is_stale(f, deletions[f.file_name])]
        small = [f for f in files if f.file_size < self._small and f.file_name not in deletions]
        yield from self._packs(stale, least=1)
        yield from self._packs(small, least=max(self._min_files, 2))

    def whole(self, files: Sequence[DataFileMeta], deletions: Mapping[str, Deletion]) -> Iterator[list[DataFileMeta]]:
        """All files of a bucket from the first small one on, if enough of them are small."""
        ordered = sorted(files, key=lambda f: f.min_sequence_number)
        while ordered and ordered[0].file_size >= self._small and ordered[0].file_name not in deletions:
            ordered.pop(0)
        small = sum(f.file_size < self._small for f in ordered)
        if any(f.file_name in deletions for f in ordered) or (small > len(ordered) - small and len(ordered) >= _FEW):
            yield ordered

    def neighbours(self, files: Sequence[DataFileMeta]) -> Iterator[list[DataFileMeta]]:
        """The first consecutive small files that are enough for a pack."""
        candidates: list[DataFileMeta] = []
        for f in sorted(files, key=lambda f: f.min_sequence_number):
            if f.file_size >= self._small:
                candidates = []
                continue
            candidates.append(f)
            if len(candidates) >= max(self._min_files, 2):
                yield candidates
                return
            while len(candidates) > 1 and sum(c.file_size for c in candidates) >= self._target:
                candidates.pop(0)

    def _is_stale(self, file: DataFileMeta, deletion: Deletion) -> bool:
        count = deletion.range.cardinality
        return file.file_size < self._small or count is None or count > file.row_count * self._max_delete_ratio

    def _packs(self, files: Sequence[DataFileMeta], least: int) -> Iterator[list[DataFileMeta]]:
        pack: list[DataFileMeta] = []
        for f in sorted(files, key=lambda f: (f.file_size, f.min_sequence_number, f.file_name)):
            pack.append(f)
            if len(pack) > 1 and sum(p.file_size + self._open_cost for p in pack) >= 2 * self._target:
                yield pack
                pack = []
        if len(pack) >= least and pack:
            yield sorted(pack, key=lambda f: (f.min_sequence_number, f.creation_time_millis or 0, f.file_name))


class AppendCompactions(CompactLayout):
    """Compactions of append tables; without buckets, only on demand."""

    def plan_due(
        self, table: Table, messages: Sequence[CommitMessage], overwrite: Overwrite | None, planned_on: Snapshot | None
    ) -> Run:
        if table.options.get(BUCKET) <= 0:
            return lambda executor: []
        base = table.snapshots.latest(planned_on)
        touched = [e for part in touched_files(table, base, messages, overwrite) for e in part]
        if not touched:
            return lambda executor: []
        plan = cluster_tasks if clusters(table) else _tasks
        tasks = plan(table, touched, base, full=False)
        return lambda executor: with_vectors(table, base, run_tasks(table, executor, tasks))

    def plan_compaction(
        self, table: Table, base: Snapshot | None, *, full: bool, scope: Scope, is_explicit: bool
    ) -> PlannedCompaction:
        plan = plan_clustering if clusters(table) else plan_append_compaction
        tasks = plan(table, base, full=full, scope=scope)
        return PlannedCompaction(
            [f for task in tasks for f in task.files],
            lambda executor: with_vectors(table, base, run_tasks(table, executor, tasks)),
        )

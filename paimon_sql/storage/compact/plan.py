"""Plans of compactions of primary-key tables: a pure function of a snapshot returns the tasks that an executor runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.storage.branches.chains import keeps_deletes
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.compact.strategy import pick_due, pick_full
from paimon_sql.storage.compact.task import CompactTask
from paimon_sql.storage.compact.touched_buckets import touched_files
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.data_files.lsm_levels import CompactUnit, level_runs
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.record_expiration import RecordExpiration
from paimon_sql.storage.table.table import Table


def plan_compaction(table: Table, *, full: bool, scope: Scope = EVERYTHING) -> list[CompactTask]:
    """Plan the compaction of the latest snapshot of a table with a primary key.

    Args:
        table: the table.
        full: whether all files are compacted to the max level; otherwise those that are due by the strategy.
        scope: the buckets to compact.
    """
    latest = table.snapshots.latest()
    live = scope.of(table, live_files(table, latest).entries)
    return _tasks(table, entries(live), latest, full=full)


def plan_triggered(
    table: Table, messages: Sequence[CommitMessage], *, overwrite: Overwrite | None = None, full: bool = False
) -> list[CompactTask]:
    """Plan the compactions that become due by new files, in their buckets.

    Args:
        table: the table, whose latest snapshot does not contain the messages' files yet.
        messages: the messages to commit.
        overwrite: what the write replaces; None for one that appends.
        full: whether all files of these buckets are compacted to the max level, due or not.
    """
    latest = table.snapshots.latest()
    replaced, added_to = touched_files(table, latest, messages, overwrite)
    # The deletion vectors of replaced files are dropped with them.
    return [*_tasks(table, replaced, None, full=full), *_tasks(table, added_to, latest, full=full)]


def _tasks(table: Table, files: Iterable[ManifestEntry], latest: Snapshot | None, *, full: bool) -> list[CompactTask]:
    """Plan the tasks of files with the deletion vectors of snapshot ``latest``."""
    buckets: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for e in files:
        if e.bucket != POSTPONE_BUCKET:
            buckets.setdefault((e.partition, e.bucket, e.total_buckets), []).append(e.file)
    deletions = _by_bucket(deletions_of(table, latest))
    vectors = {
        (e.partition, e.bucket): e.file
        for e in index_entries(table, latest)
        if e.file.index_type == DELETION_VECTORS_INDEX
    }
    always_full = full or merge_engine(table.schema).merges_all_at_once
    has_vectors = table.options.get(DELETION_VECTORS_ENABLED)
    keep_deletes = keeps_deletes(table)
    expiry = RecordExpiration.of(table)
    tasks = []
    for (partition, bucket, total), stored in buckets.items():
        marked = deletions.get((partition, bucket), {})
        runs = level_runs(stored)
        unit = None if full else pick_due(runs, table.options)
        if full or (unit is not None and always_full):
            expired = {f.file_name for f in stored if expiry is not None and expiry.is_due(table, f)}
            unit = pick_full(runs, table.options, marked.keys() | expired)
        if unit is not None:
            drop_deletes = not keep_deletes and unit.output_level != 0 and (has_vectors or _nothing_below(unit, stored))
            in_unit = {f.file_name for f in unit.files}
            below = tuple(f for f in stored if f.level > unit.output_level and f.file_name not in in_unit)
            key = partition, bucket
            index = vectors.get(key)
            deep = frozenset(f.file_name for f in stored if f.level > 0) | ({index.file_name} if index else set())
            tasks.append(CompactTask(table, *key, total, unit, drop_deletes, marked, below, index, expiry, deep))
    return tasks


def _by_bucket(
    deletions: Mapping[tuple[bytes, int, str], Deletion],
) -> dict[tuple[bytes, int], dict[str, Deletion]]:
    found: dict[tuple[bytes, int], dict[str, Deletion]] = {}
    for (partition, bucket, name), deletion in deletions.items():
        found.setdefault((partition, bucket), {})[name] = deletion
    return found


def _nothing_below(unit: CompactUnit, stored: Sequence[DataFileMeta]) -> bool:
    return unit.output_level >= max(f.level for f in stored)


def run_task(task: CompactTask) -> CommitMessage:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()

"""Compaction plans: a pure function of a snapshot makes the tasks, an executor runs them, a transaction commits."""

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
    """The tasks that compact a keyed table as it stands.

    Args:
        table: the table.
        full: everything onto the deepest level; otherwise only what the strategy thinks is due.
        scope: which buckets.
    """
    latest = table.snapshots.latest()
    live = scope.of(table, live_files(table, latest).entries)
    return _tasks(table, entries(live), latest, full=full)


def plan_triggered(
    table: Table, messages: Sequence[CommitMessage], *, overwrite: Overwrite | None = None, full: bool = False
) -> list[CompactTask]:
    """The tasks that new files make due, in the buckets that were written to.

    Args:
        table: the table, its newest snapshot not yet holding the messages' files.
        messages: what is about to be committed.
        overwrite: what the write replaces, which is not there any more; None for one that appends.
        full: everything in these buckets onto the deepest level, due or not.
    """
    latest = table.snapshots.latest()
    replaced, added_to = touched_files(table, latest, messages, overwrite)
    # Deletion vectors of what is replaced go with it.
    return [*_tasks(table, replaced, None, full=full), *_tasks(table, added_to, latest, full=full)]


def _tasks(table: Table, files: Iterable[ManifestEntry], latest: Snapshot | None, *, full: bool) -> list[CompactTask]:
    """The tasks of these files, whose rows may be marked as deleted in the snapshot ``latest``."""
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
    whole = full or merge_engine(table.schema).merges_whole
    settles = table.options.get(DELETION_VECTORS_ENABLED)
    keeps = keeps_deletes(table)
    expiry = RecordExpiration.of(table)
    found = []
    for (partition, bucket, total), held in buckets.items():
        marked = deletions.get((partition, bucket), {})
        runs = level_runs(held)
        unit = None if full else pick_due(runs, table.options)
        if full or (unit is not None and whole):
            expired = {f.file_name for f in held if expiry is not None and expiry.is_due(table, f)}
            unit = pick_full(runs, table.options, marked.keys() | expired)
        if unit is not None:
            drop = not keeps and unit.output_level != 0 and (settles or _nothing_below(unit, held))
            taken = {f.file_name for f in unit.files}
            below = tuple(f for f in held if f.level > unit.output_level and f.file_name not in taken)
            place = partition, bucket
            marks = vectors.get(place)
            deep = frozenset(f.file_name for f in held if f.level > 0) | ({marks.file_name} if marks else set())
            found.append(CompactTask(table, *place, total, unit, drop, marked, below, marks, expiry, deep))
    return found


def _by_bucket(
    deletions: Mapping[tuple[bytes, int, str], Deletion],
) -> dict[tuple[bytes, int], dict[str, Deletion]]:
    found: dict[tuple[bytes, int], dict[str, Deletion]] = {}
    for (partition, bucket, name), deletion in deletions.items():
        found.setdefault((partition, bucket), {})[name] = deletion
    return found


def _nothing_below(unit: CompactUnit, held: Sequence[DataFileMeta]) -> bool:
    return unit.output_level >= max(f.level for f in held)


def run_task(task: CompactTask) -> CommitMessage:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()

"""Compaction plans: a pure function of a snapshot makes the tasks, an executor runs them, the committer commits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.data_file import DataFileMeta
from paimon_sql.format.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.options.index import DELETION_VECTORS_ENABLED
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.compact.levels import CompactUnit, level_runs
from paimon_sql.storage.compact.task import CompactTask
from paimon_sql.storage.compact.universal import UniversalCompaction, pick_full
from paimon_sql.storage.merge.engine import merge_engine
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.scan.deletions import deletions_of
from paimon_sql.storage.scan.live_files import filter_partitions, live_files
from paimon_sql.storage.table import Table


def plan_compaction(table: Table, *, full: bool, partitions: Predicate | None = None) -> list[CompactTask]:
    """The tasks that compact a keyed table as it stands.

    Args:
        table: the table.
        full: everything onto the deepest level; otherwise only what the strategy thinks is due.
        partitions: a condition on partition columns; None for all partitions.
    """
    live = filter_partitions(table, live_files(table, table.snapshots.latest()).entries, partitions)
    return _tasks(table, entries(live), full=full)


def plan_triggered(table: Table, messages: Sequence[CommitMessage]) -> list[CompactTask]:
    """The tasks that new files make due, in the buckets that were written to.

    Args:
        table: the table, its newest snapshot not yet holding the messages' files.
        messages: what is about to be committed.
    """
    touched = {(m.partition, m.bucket) for m in messages if m.new_files}
    if not touched:
        return []
    live = live_files(table, table.snapshots.latest()).entries
    partitions = pa.array(sorted({p for p, _ in touched}), pa.binary())
    known = entries(live.filter(pc.is_in(live["partition"], value_set=partitions)))
    new = [
        ManifestEntry(FileKind.ADD, m.partition, m.bucket, m.total_buckets, f) for m in messages for f in m.new_files
    ]
    return _tasks(table, [e for e in [*known, *new] if (e.partition, e.bucket) in touched], full=False)


def _tasks(table: Table, files: Iterable[ManifestEntry], *, full: bool) -> list[CompactTask]:
    buckets: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for e in files:
        buckets.setdefault((e.partition, e.bucket, e.total_buckets), []).append(e.file)
    strategy = UniversalCompaction.of(table.options)
    deletions = deletions_of(table, table.snapshots.latest())
    engine = merge_engine(table.schema)
    # Reads that do not merge must find no older rows of a key below the new ones.
    full = full or table.options.get(DELETION_VECTORS_ENABLED) or engine.needs_every_level
    found = []
    for (partition, bucket, total), held in buckets.items():
        runs = level_runs(held)
        unit = pick_full(runs, table.options) if full else strategy.pick(runs)
        if unit is not None and engine.merges_whole:
            unit = pick_full(runs, table.options)
        if unit is not None:
            marked = {f.file_name: deletions.get((partition, bucket, f.file_name)) for f in unit.files}
            theirs = {name: deletion for name, deletion in marked.items() if deletion is not None}
            found.append(CompactTask(table, partition, bucket, total, unit, _nothing_below(unit, held), theirs))
    return found


def _nothing_below(unit: CompactUnit, held: Sequence[DataFileMeta]) -> bool:
    return unit.output_level != 0 and unit.output_level >= max(f.level for f in held)


def run_task(task: CompactTask) -> CommitMessage:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()

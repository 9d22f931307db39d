"""Compaction of tables with postponed buckets: postponed rows are moved to real buckets, which are then compacted."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.table.merge_engine import SEQUENCE_SNAPSHOT_ORDERING
from paimon_sql.storage.compact.compaction import PlannedCompaction, run_tasks
from paimon_sql.storage.compact.plan import plan_compaction, plan_triggered, run_task
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.compact.task import CompactTask
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.merge.snapshot_order import is_ordered_by_snapshots
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.staged_files import StagedFiles
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.postponed.bucket_number import amounts, numbers_for_compaction
from paimon_sql.storage.write.buckets.postponed.distribution import as_compaction, plan_distribution, run_distribution
from paimon_sql.storage.write.buckets.state import WriteState


def plan_postponed(table: Table, *, scope: Scope = EVERYTHING, full: bool = False) -> PlannedCompaction:
    """Plan the compaction that moves postponed rows to real buckets and compacts these.

    Args:
        table: the table.
        scope: the partitions to compact.
        full: whether all buckets are compacted fully, also those that get no rows; otherwise only what is due.
    """
    if is_ordered_by_snapshots(table.schema):
        raise UnsupportedError(
            f"{table.name}: the rows that wait for their buckets would lose the order of their snapshots"
            f" ('{SEQUENCE_SNAPSHOT_ORDERING.key}').",
            remedy="Copy the table's rows into one with another 'bucket'.",
        )
    state = WriteState(table, None, table.snapshots.latest())
    postponed = [e for e in entries(scope.of(table, state.files)) if e.bucket == POSTPONE_BUCKET]
    rest = plan_compaction(table, full=full, scope=scope)
    files = [*(e.file for e in postponed), *(f for task in rest for f in task.changed_files)]
    return PlannedCompaction(files, lambda executor: _compact(table, executor, state, postponed, rest, full=full))


def _compact(
    table: Table,
    executor: Executor,
    state: WriteState,
    postponed: Sequence[ManifestEntry],
    rest: Sequence[CompactTask],
    *,
    full: bool,
) -> list[CommitMessage]:
    totals = numbers_for_compaction(table.options, amounts(postponed), state.bucket_numbers)
    distributed: list[CommitMessage] = []
    with StagedFiles(table) as staged:
        for messages in executor.map(run_distribution, plan_distribution(table, postponed, totals, state.sequences)):
            distributed.extend(staged.own(messages))
        touched = {(m.partition, m.bucket) for m in distributed}
        tasks = plan_triggered(table.with_options({WRITE_ONLY.key: "false"}), distributed, full=full)
        tasks += [task for task in rest if (task.partition, task.bucket) not in touched]
        merged = run_tasks(table, executor, run_task, tasks)
        staged.release_all()
    return as_compaction(table, postponed, distributed, merged)

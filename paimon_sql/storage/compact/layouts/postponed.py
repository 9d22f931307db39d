"""The compaction of tables with postponed buckets: waiting rows go to real buckets, which are then merged as is due."""

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
    """The compaction that brings waiting rows into real buckets and merges those.

    Args:
        table: the table.
        scope: which partitions.
        full: whether buckets are merged fully, those that got no rows, too; otherwise only what is due.
    """
    if is_ordered_by_snapshots(table.schema):
        raise UnsupportedError(
            f"{table.name}: the rows that wait for their buckets would lose the order of their snapshots"
            f" ('{SEQUENCE_SNAPSHOT_ORDERING.key}').",
            remedy="Copy the table's rows into one with another 'bucket'.",
        )
    state = WriteState(table, None, table.snapshots.latest())
    waiting = [e for e in entries(scope.of(table, state.files)) if e.bucket == POSTPONE_BUCKET]
    rest = plan_compaction(table, full=full, scope=scope)
    files = [*(e.file for e in waiting), *(f for task in rest for f in task.changed_files)]
    return PlannedCompaction(files, lambda executor: _compact(table, executor, state, waiting, rest, full=full))


def _compact(
    table: Table,
    executor: Executor,
    state: WriteState,
    waiting: Sequence[ManifestEntry],
    rest: Sequence[CompactTask],
    *,
    full: bool,
) -> list[CommitMessage]:
    totals = numbers_for_compaction(table.options, amounts(waiting), state.bucket_numbers)
    placed: list[CommitMessage] = []
    with StagedFiles(table) as staged:
        for messages in executor.map(run_distribution, plan_distribution(table, waiting, totals, state.sequences)):
            placed.extend(staged.take(messages))
        touched = {(m.partition, m.bucket) for m in placed}
        tasks = plan_triggered(table.with_options({WRITE_ONLY.key: "false"}), placed, full=full)
        tasks += [task for task in rest if (task.partition, task.bucket) not in touched]
        merged = run_tasks(table, executor, run_task, tasks)
        staged.release_all()
    return as_compaction(table, waiting, placed, merged)

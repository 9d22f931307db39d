"""Compactions of tables of any layout: on demand, and those that become due by a write."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.storage.commit.checks.append_only import growth_error, is_append_only
from paimon_sql.storage.compact.compaction import PlannedCompaction, run_tasks
from paimon_sql.storage.compact.layouts.append import (
    plan_append_compaction,
    plan_append_triggered,
    run_append_task,
    with_vectors,
)
from paimon_sql.storage.compact.layouts.clustered import plan_clustering, plan_clustering_triggered, run_cluster_task
from paimon_sql.storage.compact.layouts.data_evolution import plan_data_evolution_compaction, run_evolved
from paimon_sql.storage.compact.layouts.postponed import plan_postponed
from paimon_sql.storage.compact.plan import plan_compaction, plan_triggered, run_task
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.merge.snapshot_order import is_ordered_by_snapshots
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.clustering.clustering import clusters


def compact_due(
    table: Table, messages: Sequence[CommitMessage], executor: Executor, overwrite: Overwrite | None = None
) -> list[CommitMessage]:
    """Run the compactions that become due by new files, in their buckets; none for write-only tables.

    Nor for tables whose rows are ordered by snapshots: the new files have no snapshot yet.

    Args:
        table: the table, whose latest snapshot does not contain the messages' files yet.
        messages: the messages to commit.
        executor: runs the tasks.
        overwrite: what the write replaces; None for one that appends.
    """
    if table.options.get(WRITE_ONLY) or is_append_only(table) or is_ordered_by_snapshots(table.schema):
        return []
    if table.schema.primary_keys:
        return run_tasks(table, executor, run_task, plan_triggered(table, messages, overwrite=overwrite))
    if table.options.get(BUCKET) <= 0:
        return []
    base = table.snapshots.latest()
    if clusters(table):
        due = plan_clustering_triggered(table, base, messages, overwrite)
        return with_vectors(table, base, run_tasks(table, executor, run_cluster_task, due))
    tasks = plan_append_triggered(table, base, messages, overwrite)
    return with_vectors(table, base, run_tasks(table, executor, run_append_task, tasks))


def plan_table(table: Table, *, full: bool, scope: Scope = EVERYTHING, asked: bool = True) -> PlannedCompaction:
    """Plan the compaction of the latest snapshot of a table.

    Args:
        table: the table.
        full: whether all files are compacted; otherwise those that are due.
        scope: the buckets to compact.
        asked: whether the user set ``full``; with postponed buckets, buckets that get no rows are compacted fully only
            then.

    Raises:
        UnsupportedError: the table's files must not change.
    """
    if (refusal := growth_error(table, CommitKind.COMPACT)) is not None:
        raise refusal
    base = table.snapshots.latest()
    if has_data_evolution(table):
        pieces = plan_data_evolution_compaction(table, base, scope)
        return PlannedCompaction(
            [f for task in pieces for f in task.files], lambda executor: run_evolved(table, executor, base, pieces)
        )
    if clusters(table):
        units = plan_clustering(table, base, full=full, scope=scope)
        return PlannedCompaction(
            [f for task in units for f in task.moved.files],
            lambda executor: with_vectors(table, base, run_tasks(table, executor, run_cluster_task, units)),
        )
    if not table.schema.primary_keys:
        packs = plan_append_compaction(table, full=full, scope=scope)
        return PlannedCompaction(
            [f for task in packs for f in task.moved.files],
            lambda executor: with_vectors(table, base, run_tasks(table, executor, run_append_task, packs)),
        )
    if bucket_mode(table.schema).is_postponed:
        return plan_postponed(table, scope=scope, full=full and asked)
    tasks = plan_compaction(table, full=full, scope=scope)
    return PlannedCompaction(
        [f for task in tasks for f in task.changed_files],
        lambda executor: run_tasks(table, executor, run_task, tasks),
    )


def compact_table(
    table: Table, executor: Executor, *, full: bool, scope: Scope = EVERYTHING, asked: bool = True
) -> list[CommitMessage]:
    """Plan and run the compaction of a table (see `plan_table`); return what to commit."""
    return plan_table(table, full=full, scope=scope, asked=asked).run(executor)

"""Sort compaction: the rows of each partition are sorted by some columns and rewritten.

It applies to append tables without buckets, whose rows have no order. The commit is an overwrite; deletion vectors are
applied and dropped with the old files, and tracked rows keep their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.compaction import CLUSTERING_INCREMENTAL, ZORDER_VAR_LENGTH_CONTRIBUTION
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.storage.compact.compaction import PlannedCompaction, run_tasks
from paimon_sql.storage.compact.layouts.bucket_files import BucketFiles, by_bucket
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.row_level.vectors import drop_vectors
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.clustering.clustering import Clustering
from paimon_sql.storage.write.clustering.columns import order_columns
from paimon_sql.storage.write.clustering.external_sort import sorted_rows
from paimon_sql.storage.write.clustering.registry import row_layout
from paimon_sql.storage.write.files.rolling import write_all


@dataclass(frozen=True)
class SortTask:
    """Sorts the rows of one partition."""

    moved: BucketFiles
    layout: Clustering

    @property
    def size(self) -> int:
        """The bytes to read."""
        return self.moved.size

    def run(self) -> CommitMessage:
        """Write the new files, which take effect with the commit; on an error they are deleted."""
        moved = self.moved
        new = write_all(moved.writer(), sorted_rows(moved.rows(), self.layout.keys, moved.settings.buffer_size))
        return CommitMessage(
            moved.partition, moved.bucket, moved.total_buckets, new_files=tuple(new), deleted_files=moved.files
        )


def run_sort(task: SortTask) -> CommitMessage:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()


def plan_sort(table: Table, strategy: str, columns: Sequence[str], *, scope: Scope = EVERYTHING) -> PlannedCompaction:
    """Plan the compaction that sorts the rows of each partition, with one task per partition.

    Args:
        table: the table.
        strategy: the name of a row layout.
        columns: the columns to order by.
        scope: the partitions to sort.

    Raises:
        InvalidInputError: the layout or a column does not exist, a column is a partition column or has no order, or
            there are none.
        UnsupportedError: the table has buckets, data evolution or incremental clustering.
    """
    layout = row_layout(strategy)
    if bucket_mode(table.schema).has_buckets:
        raise UnsupportedError(
            f"{table.name} has {'a primary key' if table.schema.primary_keys else 'buckets'}: its rows cannot be"
            " ordered.",
            remedy="Leave order_strategy out; only append tables without buckets can be ordered.",
        )
    if table.options.get(DATA_EVOLUTION_ENABLED):
        raise UnsupportedError(f"{table.name}: tables with data evolution cannot be ordered.")
    if table.options.get(CLUSTERING_INCREMENTAL):
        raise UnsupportedError(
            f"{table.name} is clustered incrementally (clustering.incremental); it takes no order_strategy.",
            remedy="Leave order_strategy and order_by out.",
        )
    wanted = order_columns(table, columns, "order_by")
    clustering = Clustering(layout.name, wanted, table.options.get(ZORDER_VAR_LENGTH_CONTRIBUTION))
    latest = table.snapshots.latest()
    live = entries(scope.of(table, live_files(table, latest).entries))
    tasks = [SortTask(bucket, clustering) for bucket in by_bucket(table, live, latest)]
    files = [f for task in tasks for f in task.moved.files]
    return PlannedCompaction(files, lambda executor: _sort(table, executor, latest, tasks))


def sort_table(
    table: Table, executor: Executor, strategy: str, columns: Sequence[str], *, scope: Scope = EVERYTHING
) -> list[CommitMessage]:
    """Plan and run a sort compaction (see `plan_sort`); return what to commit."""
    return plan_sort(table, strategy, columns, scope=scope).run(executor)


def _sort(table: Table, executor: Executor, latest: Snapshot | None, tasks: Sequence[SortTask]) -> list[CommitMessage]:
    messages = run_tasks(table, executor, run_sort, tasks)
    replaced = [
        ManifestEntry(FileKind.DELETE, m.partition, m.bucket, m.total_buckets, f)
        for m in messages
        for f in m.deleted_files
    ]
    return [*messages, *drop_vectors(table, latest, replaced)]

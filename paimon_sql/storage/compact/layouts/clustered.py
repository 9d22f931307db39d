"""Compaction of append tables with incremental clustering (``clustering.incremental``).

New files are on level 0, each a sorted run; files that were sorted together are one run on a deeper level. The strategy
of primary-key tables picks the runs that are due; their rows are sorted in the table's clustering order and rewritten,
to the max level if these are all runs (spec: Append Table, Incremental Clustering).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    CLUSTERING_COLUMNS,
    CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT,
    CLUSTERING_HISTORY_PARTITION_LIMIT,
    CLUSTERING_INCREMENTAL,
    CLUSTERING_INCREMENTAL_MODE,
)
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.wall_clock import wall_clock_millis
from paimon_sql.storage.compact.layouts.append import files_of_touched_buckets
from paimon_sql.storage.compact.layouts.bucket_files import BucketFiles, by_bucket
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.compact.strategy import UniversalCompaction, pick_full
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.data_files.lsm_levels import CompactUnit, level_runs, max_level
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.scan.split_size import SPLIT_BYTES
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.clustering.clustering import Clustering, clustering_of, named_columns
from paimon_sql.storage.write.clustering.external_sort import sorted_rows
from paimon_sql.storage.write.files.rolling import write_all


@dataclass(frozen=True)
class ClusterTask:
    """Sorts the rows of some files of a bucket."""

    moved: BucketFiles
    clustering: Clustering
    level: int

    @property
    def size(self) -> int:
        """The bytes to read."""
        return self.moved.size

    def run(self) -> CommitMessage:
        """Write the new files, which take effect with the commit; on an error they are deleted."""
        moved = self.moved
        first = min(f.min_sequence_number for f in moved.files)
        writer = moved.writer(source=FileSource.COMPACT, first_sequence=first)
        written = write_all(writer, sorted_rows(moved.rows(), self.clustering.keys, moved.settings.buffer_size))
        after = tuple(f.upgrade(self.level) for f in written)
        return CommitMessage(
            moved.partition, moved.bucket, moved.total_buckets, compact_before=moved.files, compact_after=after
        )


def run_cluster_task(task: ClusterTask) -> CommitMessage:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()


def plan_clustering(table: Table, base: Snapshot | None, *, full: bool, scope: Scope = EVERYTHING) -> list[ClusterTask]:
    """Plan the clustering of a snapshot's files; no tasks if nothing is due.

    If the scope has a condition on partitions, other partitions that were idle for long are clustered fully as well, if
    the table's options ask for it.

    Args:
        table: the table.
        base: the snapshot.
        full: whether all files of a bucket are clustered; otherwise those that are due by the strategy.
        scope: the buckets to compact.

    Raises:
        InvalidInputError: a clustering column has no order.
        UnsupportedError: the table has no clustering columns.
    """
    live = live_files(table, base).entries
    chosen = scope.of(table, live)
    tasks = _tasks(table, entries(chosen), base, full=full)
    if scope.partitions is not None and not bucket_mode(table.schema).has_buckets:
        tasks += _tasks(table, entries(_idle(table, live, chosen)), base, full=True)
    return tasks


def plan_clustering_triggered(
    table: Table, base: Snapshot | None, messages: Sequence[CommitMessage], overwrite: Overwrite | None = None
) -> list[ClusterTask]:
    """Plan the clustering that becomes due by new files in fixed buckets; arguments as in `touched_files`."""
    touched = files_of_touched_buckets(table, base, messages, overwrite)
    return _tasks(table, touched, base, full=False) if touched else []


def _tasks(table: Table, files: Iterable[ManifestEntry], base: Snapshot | None, *, full: bool) -> list[ClusterTask]:
    clustering = clustering_of(table)
    if clustering is None:
        raise UnsupportedError(
            f"{table.name} is to be clustered ({CLUSTERING_INCREMENTAL.key}), but names no columns to cluster by.",
            remedy=f"Set '{CLUSTERING_COLUMNS.key}'.",
        )
    tasks = []
    for bucket in by_bucket(table, files, base):
        unit = _full(table, bucket) if full else UniversalCompaction.of(table.options).pick(level_runs(bucket.files))
        if unit is not None:
            packs = _packs(table, bucket.select(unit.files))
            tasks += [ClusterTask(part, clustering, unit.output_level) for part in packs]
    return tasks


def _full(table: Table, bucket: BucketFiles) -> CompactUnit | None:
    """All files of a bucket; None if they were sorted together by these columns and none has deleted rows."""
    runs = level_runs(bucket.files)
    all_files = CompactUnit(max(max_level(table.options), runs[-1].level), bucket.files)
    if bucket.deletions or pick_full(runs, table.options) is not None:
        return all_files
    written = TableOptions(table.schemas.get(runs[0].files[0].schema_id).options)
    return None if named_columns(written) == named_columns(table.options) else all_files


def _packs(table: Table, bucket: BucketFiles) -> list[BucketFiles]:
    """The files whose rows are sorted together: all of them, or the size of one split with ``local-sort``."""
    if table.options.get(CLUSTERING_INCREMENTAL_MODE) != "local-sort":
        return [bucket]
    return [bucket.select(part) for part in pack(bucket.files, lambda f: f.file_size, SPLIT_BYTES)]


def _idle(table: Table, live: pa.Table, chosen: pa.Table) -> pa.Table:
    """The files of idle partitions that were not chosen, the longest idle first.

    Partitions with all files on the max level are clustered already.
    """
    idle = table.options.get(CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT)
    limit = table.options.get(CLUSTERING_HISTORY_PARTITION_LIMIT)
    if idle is None:
        return live.slice(0, 0)
    others = live.filter(pc.invert(pc.is_in(live["partition"], value_set=chosen["partition"].combine_chunks())))
    fresh = others.filter(pc.less(others["level"], max_level(table.options)))
    newest = fresh.group_by("partition").aggregate([("creation_time_millis", "max")])
    since = wall_clock_millis() - idle // MILLISECOND
    old = newest.filter(pc.less(newest["creation_time_millis_max"], since)).sort_by("creation_time_millis_max")
    return others.filter(pc.is_in(others["partition"], value_set=old["partition"].combine_chunks().slice(0, limit)))

"""Compactions that sort rows: incremental clustering (``clustering.incremental``), and sort compaction.

New files are on level 0, each a sorted run; files that were sorted together are one run on a deeper level. The strategy
of primary-key tables picks the runs that are due; their rows are sorted in the table's clustering order and rewritten,
to the max level if these are all runs (spec: Append Table, Incremental Clustering).

It applies to append tables without buckets, whose rows have no order. The commit is an overwrite; deletion vectors are
applied and dropped with the old files, and tracked rows keep their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations import compaction
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.instants import wall_clock_millis
from paimon_sql.storage.compact.compaction import EVERYTHING, PlannedCompaction, Scope, run_tasks
from paimon_sql.storage.compact.strategy import UniversalCompaction, pick_full
from paimon_sql.storage.data_files.file_groups import FileSet
from paimon_sql.storage.data_files.live_files import Deletion, deletions_of, grouped, live_files
from paimon_sql.storage.data_files.lsm_tree import CompactUnit, level_runs, max_level
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.read.readers.data_file import rows_to_move
from paimon_sql.storage.row_level.vectors import drop_vectors
from paimon_sql.storage.scan.split import SPLIT_BYTES, deletions_in, pack
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bucket_mode
from paimon_sql.storage.write.clustering.clustering import (
    Clustering,
    clustering_of,
    named_columns,
    order_columns,
    row_layout,
    sorted_rows,
)
from paimon_sql.storage.write.rolling import RollingWriter, write_all
from paimon_sql.storage.write.settings import moved_settings


@dataclass(frozen=True)
class BucketTask(FileSet):
    """Rewrites some files of a bucket of an append table.

    Attributes:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket.
        total_buckets: the number of buckets of the partition.
        files: the files.
        deletions: their deletion vectors, by file name.
        clustering: the order of the rows; None for that of the files.
        level: the level of the new files; None if they replace the old ones as an overwrite does.
    """

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, Deletion] = field(default_factory=dict)
    clustering: Clustering | None = None
    level: int | None = 0

    def select(self, files: Sequence[DataFileMeta]) -> BucketTask:
        """The task for some of these files."""
        vectors = {f.file_name: self.deletions[f.file_name] for f in files if f.file_name in self.deletions}
        return replace(self, files=tuple(files), deletions=vectors)

    def run(self) -> CommitMessage:
        """Write the new files, which take effect with the commit; on an error they are deleted."""
        place, settings = (self.partition, self.bucket), moved_settings(self.table.schema)
        rows, first = self._rows(), self.files[0].min_sequence_number
        if self.clustering is not None:
            rows = sorted_rows(rows, self.clustering.keys, settings.buffer_size)
            first = min(f.min_sequence_number for f in self.files)
        if self.level is None:
            new = write_all(RollingWriter(self.table, settings, *place), rows)
            return CommitMessage(*place, self.total_buckets, new_files=tuple(new), deleted_files=self.files)
        writer = RollingWriter(self.table, settings, *place, source=FileSource.COMPACT, first_sequence=first)
        after = tuple(f.upgrade(self.level) if self.level else f for f in write_all(writer, rows))
        return CommitMessage(*place, self.total_buckets, compact_before=self.files, compact_after=after)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, without deleted ones; with their ids if the table has row tracking."""
        for file in self.files:
            deletion = self.deletions.get(file.file_name)
            for _, rows in rows_to_move(self.table, self.partition, self.bucket, file, deletion=deletion):
                yield rows


def by_bucket(table: Table, files: Iterable[ManifestEntry], snapshot: Snapshot | None) -> list[BucketTask]:
    """Group live files by bucket, with their deletion vectors in a snapshot."""
    deletions = deletions_of(table, snapshot)
    buckets = grouped(((e.partition, e.bucket, e.total_buckets), e.file) for e in files)
    return [
        BucketTask(table, *bucket, tuple(in_bucket), deletions_in(deletions, bucket[:2], in_bucket))
        for bucket, in_bucket in buckets.items()
    ]


def plan_clustering(table: Table, base: Snapshot | None, *, full: bool, scope: Scope) -> list[BucketTask]:
    """Plan the clustering of a snapshot's files; no tasks if nothing is due.

    If the scope has a condition on partitions, other partitions that were idle for long are clustered fully as well, if
    the table's options require it.

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
    tasks = cluster_tasks(table, entries(chosen), base, full=full)
    if scope.partitions is not None and not bucket_mode(table.schema).has_buckets:
        tasks += cluster_tasks(table, entries(_idle(table, live, chosen)), base, full=True)
    return tasks


def cluster_tasks(
    table: Table, files: Iterable[ManifestEntry], base: Snapshot | None, *, full: bool
) -> list[BucketTask]:
    """The tasks of some files of a snapshot; arguments and errors as of `plan_clustering`."""
    clustering = clustering_of(table)
    if clustering is None:
        raise UnsupportedError(
            f"{table.name} is to be clustered ({compaction.CLUSTERING_INCREMENTAL.key}), but names no columns to"
            " cluster by.",
            remedy=f"Set '{compaction.CLUSTERING_COLUMNS.key}'.",
        )
    tasks = []
    for bucket in by_bucket(table, files, base):
        unit = _full(table, bucket) if full else UniversalCompaction.of(table.options).pick(level_runs(bucket.files))
        if unit is not None:
            packs = _packs(table, bucket.select(unit.files))
            tasks += [replace(part, clustering=clustering, level=unit.output_level) for part in packs]
    return tasks


def _full(table: Table, bucket: BucketTask) -> CompactUnit | None:
    """All files of a bucket; None if they were sorted together by these columns and none has deleted rows."""
    runs = level_runs(bucket.files)
    all_files = CompactUnit(max(max_level(table.options), runs[-1].level), bucket.files)
    if bucket.deletions or pick_full(runs, table.options) is not None:
        return all_files
    written = TableOptions(table.schemas.get(runs[0].files[0].schema_id).options)
    return None if named_columns(written) == named_columns(table.options) else all_files


def _packs(table: Table, bucket: BucketTask) -> list[BucketTask]:
    """The files whose rows are sorted together: all of them, or the size of one split with ``local-sort``."""
    if table.options.get(compaction.CLUSTERING_INCREMENTAL_MODE) != "local-sort":
        return [bucket]
    return [bucket.select(part) for part in pack(bucket.files, lambda f: f.file_size, SPLIT_BYTES)]


def _idle(table: Table, live: pa.Table, chosen: pa.Table) -> pa.Table:
    """The files of idle partitions that were not chosen, the longest idle first.

    Partitions with all files on the max level are clustered already.
    """
    idle = table.options.get(compaction.CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT)
    limit = table.options.get(compaction.CLUSTERING_HISTORY_PARTITION_LIMIT)
    if idle is None:
        return live.slice(0, 0)
    others = live.filter(pc.invert(pc.is_in(live["partition"], value_set=chosen["partition"].combine_chunks())))
    fresh = others.filter(pc.less(others["level"], max_level(table.options)))
    newest = fresh.group_by("partition").aggregate([("creation_time_millis", "max")])
    since = wall_clock_millis() - idle // MILLISECOND
    old = newest.filter(pc.less(newest["creation_time_millis_max"], since)).sort_by("creation_time_millis_max")
    return others.filter(pc.is_in(others["partition"], value_set=old["partition"].combine_chunks().slice(0, limit)))


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
            f"{table.name} has {'a primary key' if table.schema.has_key else 'buckets'}: its rows cannot be ordered.",
            remedy="Leave order_strategy out; only append tables without buckets can be ordered.",
        )
    if table.layout.groups_files:
        raise UnsupportedError(f"{table.name}: tables with data evolution cannot be ordered.")
    if table.options.get(compaction.CLUSTERING_INCREMENTAL):
        raise UnsupportedError(
            f"{table.name} is clustered incrementally (clustering.incremental); it does not support order_strategy.",
            remedy="Leave order_strategy and order_by out.",
        )
    wanted = order_columns(table, columns, "order_by")
    clustering = Clustering(layout.name, wanted, table.options.get(compaction.ZORDER_VAR_LENGTH_CONTRIBUTION))
    latest = table.snapshots.latest()
    live = entries(scope.of(table, live_files(table, latest).entries))
    tasks = [replace(bucket, clustering=clustering, level=None) for bucket in by_bucket(table, live, latest)]

    def run(executor: Executor) -> list[CommitMessage]:
        messages = run_tasks(table, executor, tasks)
        replaced = [e for e in append_changes(messages).entries if e.kind is FileKind.DELETE]
        return [*messages, *drop_vectors(table, latest, replaced)]

    return PlannedCompaction([f for task in tasks for f in task.files], run)

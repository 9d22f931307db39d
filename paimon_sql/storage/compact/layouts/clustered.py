"""The compaction of append tables that are kept clustered (``clustering.incremental``), run by run.

New files stand on level 0 and are sorted runs of their own; what was sorted together stands on one level below. The
strategy of tables with a primary key says which runs are due; their rows are sorted along the table's curve and written
anew, onto the deepest level if it is all of them (spec: Append Table, Incremental Clustering).
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
        """The bytes to be read."""
        return self.moved.size

    def run(self) -> CommitMessage:
        """Do it; the files made are seen by nobody until the message is committed, and on an error none is left."""
        moved = self.moved
        first = min(f.min_sequence_number for f in moved.files)
        writer = moved.writer(source=FileSource.COMPACT, first_sequence=first)
        made = write_all(writer, sorted_rows(moved.rows(), self.clustering.keys, moved.settings.buffer_size))
        after = tuple(f.upgrade(self.level) for f in made)
        return CommitMessage(
            moved.partition, moved.bucket, moved.total_buckets, compact_before=moved.files, compact_after=after
        )


def run_cluster_task(task: ClusterTask) -> CommitMessage:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


def plan_clustering(table: Table, base: Snapshot | None, *, full: bool, scope: Scope = EVERYTHING) -> list[ClusterTask]:
    """The tasks that cluster a table as it stands in a snapshot; none if it is clustered as far as is due.

    Where the scope names partitions, others that have been quiet for long are clustered fully beside them, if the table
    asks for that.

    Args:
        table: the table.
        base: the snapshot.
        full: all rows of a bucket together; otherwise only what the strategy thinks is due.
        scope: which buckets.

    Raises:
        InvalidInputError: a column to cluster by has no order.
        UnsupportedError: the table names no such columns.
    """
    live = live_files(table, base).entries
    chosen = scope.of(table, live)
    tasks = _tasks(table, entries(chosen), base, full=full)
    if scope.partitions is not None and not bucket_mode(table.schema).has_buckets:
        tasks += _tasks(table, entries(_quiet(table, live, chosen)), base, full=True)
    return tasks


def plan_clustering_triggered(
    table: Table, base: Snapshot | None, messages: Sequence[CommitMessage], overwrite: Overwrite | None = None
) -> list[ClusterTask]:
    """The tasks that new files make due in fixed buckets; arguments as of `files_of_touched_buckets`."""
    touched = files_of_touched_buckets(table, base, messages, overwrite)
    return _tasks(table, touched, base, full=False) if touched else []


def _tasks(table: Table, files: Iterable[ManifestEntry], base: Snapshot | None, *, full: bool) -> list[ClusterTask]:
    clustering = clustering_of(table)
    if clustering is None:
        raise UnsupportedError(
            f"{table.name} is to be clustered ({CLUSTERING_INCREMENTAL.key}), but names no columns to cluster by.",
            remedy=f"Set '{CLUSTERING_COLUMNS.key}'.",
        )
    found = []
    for held in by_bucket(table, files, base):
        unit = _full(table, held) if full else UniversalCompaction.of(table.options).pick(level_runs(held.files))
        if unit is not None:
            packs = _packs(table, held.only(unit.files))
            found += [ClusterTask(part, clustering, unit.output_level) for part in packs]
    return found


def _full(table: Table, held: BucketFiles) -> CompactUnit | None:
    """All files of a bucket; None if they were sorted together by these columns and no row of them was deleted."""
    runs = level_runs(held.files)
    whole = CompactUnit(max(max_level(table.options), runs[-1].level), held.files)
    if held.deletions or pick_full(runs, table.options) is not None:
        return whole
    written = TableOptions(table.schemas.get(runs[0].files[0].schema_id).options)
    return None if named_columns(written) == named_columns(table.options) else whole


def _packs(table: Table, held: BucketFiles) -> list[BucketFiles]:
    """The files of which the rows are sorted together: all of them, or as many as one worker takes."""
    if table.options.get(CLUSTERING_INCREMENTAL_MODE) != "local-sort":
        return [held]
    return [held.only(part) for part in pack(held.files, lambda f: f.file_size, SPLIT_BYTES)]


def _quiet(table: Table, live: pa.Table, chosen: pa.Table) -> pa.Table:
    """The files of partitions beside those chosen to which no file has come for long, the quietest first.

    A partition all of whose files stand on the deepest level is clustered already.
    """
    idle = table.options.get(CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT)
    most = table.options.get(CLUSTERING_HISTORY_PARTITION_LIMIT)
    if idle is None:
        return live.slice(0, 0)
    others = live.filter(pc.invert(pc.is_in(live["partition"], value_set=chosen["partition"].combine_chunks())))
    fresh = others.filter(pc.less(others["level"], max_level(table.options)))
    newest = fresh.group_by("partition").aggregate([("creation_time_millis", "max")])
    since = wall_clock_millis() - idle // MILLISECOND
    old = newest.filter(pc.less(newest["creation_time_millis_max"], since)).sort_by("creation_time_millis_max")
    return others.filter(pc.is_in(others["partition"], value_set=old["partition"].combine_chunks().slice(0, most)))

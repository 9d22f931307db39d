"""Compactions of tables of any layout: their scope, their plan, and their run, on demand or as writes make them due."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.instants import wall_clock_millis
from paimon_sql.storage.commit.checks.conflicts import growth_error, is_append_only
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.execution.metrics import COMPACTION, process_metrics
from paimon_sql.storage.execution.task_executor import Executor, Task
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes, compact_changes, gather
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table

Run: TypeAlias = Callable[[Executor], list[CommitMessage]]
"""Runs planned compactions and returns what to commit; on an error their files are deleted."""


@dataclass(frozen=True)
class PlannedCompaction:
    """A compaction of a table that can be reported before it runs.

    Attributes:
        files: the files that change their level or are replaced. With postponed buckets, files of the buckets that get
            postponed rows are added when it runs.
        run: runs it.
    """

    files: Sequence[DataFileMeta]
    run: Run


def run_tasks(table: Table, executor: Executor, tasks: Sequence[Task[CommitMessage]]) -> list[CommitMessage]:
    """Run tasks and return their messages; if one fails or the run is interrupted, the files of all are deleted."""
    return gather(table, executor.run(tasks), lambda message: (message,))


@dataclass(frozen=True)
class Scope:
    """A selection of the buckets of a table; all by default.

    Attributes:
        partitions: a condition on partition columns.
        idle: the min time since the newest file of a partition.
        buckets: the bucket numbers, for tables with fixed buckets.
        excluded: the serialised partitions to exclude.
    """

    partitions: Predicate | None = None
    idle: timedelta | None = None
    buckets: frozenset[int] | None = None
    excluded: frozenset[bytes] = frozenset()

    def of(self, table: Table, live: pa.Table) -> pa.Table:
        """Filter the live files of a table."""
        found = filter_partitions(table, live, self.partitions)
        if self.excluded:
            excluded = pa.array(sorted(self.excluded), pa.binary())
            found = found.filter(pc.invert(pc.is_in(found["partition"], value_set=excluded)))
        if self.idle is not None:
            # The newest file of the partition counts, not that of the bucket.
            newest = found.group_by("partition").aggregate([("creation_time_millis", "max")])
            since = wall_clock_millis() - self.idle // MILLISECOND
            old = newest.filter(pc.less_equal(newest["creation_time_millis_max"], since))
            found = found.filter(pc.is_in(found["partition"], value_set=old["partition"].combine_chunks()))
        if self.buckets is not None:
            found = found.filter(pc.is_in(found["bucket"], value_set=pa.array(sorted(self.buckets), pa.int32())))
        return found


EVERYTHING = Scope()


def touched_files(
    table: Table, latest: Snapshot | None, messages: Sequence[CommitMessage], overwrite: Overwrite | None
) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """Return all files of the buckets that a write adds files to, as they will be after it.

    Args:
        table: the table.
        latest: its latest snapshot, which does not contain the messages' files yet.
        messages: the messages to commit.
        overwrite: what the write replaces; None for one that appends.

    Returns:
        The files of replaced partitions, which are all new, and those of the other partitions.
    """
    touched = {(m.partition, m.bucket) for m in messages if m.new_files}
    partitions = {partition for partition, _ in touched}
    replaced = overwrite.replaces(table, partitions) if overwrite is not None else frozenset[bytes]()
    rest = partitions - replaced
    existing = entries(live_files(table, latest, partitions=rest).entries) if rest else []
    new = [e for e in append_changes(messages).entries if e.kind is FileKind.ADD]
    in_replaced = [e for e in new if e.partition in replaced]
    return in_replaced, [e for e in [*existing, *new] if e.partition in rest and (e.partition, e.bucket) in touched]


class CompactLayout(TableLayout):
    """Facet of table layouts: how files are compacted."""

    def plan_due(
        self, table: Table, messages: Sequence[CommitMessage], overwrite: Overwrite | None, planned_on: Snapshot | None
    ) -> Run:
        """Plan the compactions that become due by new files, by default none; arguments as of `compact_due`."""
        return lambda executor: []

    @abstractmethod
    def plan_compaction(
        self, table: Table, base: Snapshot | None, *, full: bool, scope: Scope, is_explicit: bool
    ) -> PlannedCompaction:
        """Plan the compaction of a snapshot; arguments as of `plan_table`."""


def compact_due(
    table: Table,
    messages: Sequence[CommitMessage],
    executor: Executor,
    overwrite: Overwrite | None = None,
    planned_on: Snapshot | None = None,
) -> list[CommitMessage]:
    """Run the compactions that become due by new files, in their buckets; none for write-only tables.

    Nor for tables whose rows are ordered by snapshots: the new files have no snapshot yet.

    Args:
        table: the table, whose latest snapshot does not contain the messages' files yet.
        messages: the messages to commit.
        executor: runs the tasks.
        overwrite: what the write replaces; None for one that appends.
        planned_on: the snapshot that the write was planned on, which is not read again if it is still the latest.
    """
    if table.options.get(WRITE_ONLY) or is_append_only(table) or is_ordered_by_snapshots(table.schema):
        return []
    return _measured(table, CompactLayout.of(table).plan_due(table, messages, overwrite, planned_on))(executor)


def plan_table(table: Table, *, full: bool, scope: Scope = EVERYTHING, is_explicit: bool = True) -> PlannedCompaction:
    """Plan the compaction of the latest snapshot of a table.

    Args:
        table: the table.
        full: whether all files are compacted; otherwise those that are due.
        scope: the buckets to compact.
        is_explicit: whether the user set ``full``; with postponed buckets, buckets that get no rows are compacted fully
            only then.

    Raises:
        UnsupportedError: the table's files must not change.
    """
    if (refusal := growth_error(table, CommitKind.COMPACT)) is not None:
        raise refusal
    latest, layout = table.snapshots.latest(), CompactLayout.of(table)
    planned = layout.plan_compaction(table, latest, full=full, scope=scope, is_explicit=is_explicit)
    return replace(planned, run=_measured(table, planned.run))


def _measured(table: Table, run: Run) -> Run:
    """The run, with its metrics if it compacts anything."""

    def measured(executor: Executor) -> list[CommitMessage]:
        started = time.monotonic()
        messages = run(executor)
        changed = compact_changes(messages).entries
        if changed:
            sizes = {kind: sum(e.file.file_size for e in changed if e.kind is kind) for kind in FileKind}
            values: dict[str, float] = {
                "compactionTime": round((time.monotonic() - started) * 1000),
                "compactionInputSize": sizes[FileKind.DELETE],
                "compactionOutputSize": sizes[FileKind.ADD],
            }
            process_metrics().note(table.metric_key, COMPACTION, values)
        return messages

    return measured

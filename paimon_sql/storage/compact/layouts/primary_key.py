"""Compaction of primary-key tables: sorted runs are merged, postponed rows first move to real buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations import compaction
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import SEQUENCE_SNAPSHOT_ORDERING
from paimon_sql.storage.compact.compaction import CompactLayout, PlannedCompaction, Run, Scope, run_tasks, touched_files
from paimon_sql.storage.compact.rewriters import BucketWork, rewriter_of
from paimon_sql.storage.compact.strategy import pick_due, pick_full
from paimon_sql.storage.data_files.live_files import deletions_of, grouped, live_files
from paimon_sql.storage.data_files.lsm_tree import Section, level_runs, max_level, sections_of
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.record_expiration import RecordExpiration
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.postponed import (
    amounts,
    as_compaction,
    numbers_for_compaction,
    plan_distribution,
)
from paimon_sql.storage.write.buckets.base import WriteState, bucket_mode
from paimon_sql.storage.write.settings import WriteSettings


@dataclass(frozen=True)
class CompactTask(BucketWork):
    """Merges some files of a bucket."""

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f in self.unit.files)

    def run(self) -> CommitMessage:
        """Move big files without overlaps and without changes to the new level, and rewrite the others.

        New files take effect when the message is committed; on an error they are deleted.
        """
        rewriter = rewriter_of(self)
        try:
            for sections, unchanged in self._steps():
                if unchanged:
                    rewriter.move(sections[0].runs[0][0])
                else:
                    rewriter.rewrite(sections)
            return rewriter.message()
        except BaseException:
            rewriter.discard()
            raise

    @property
    def changed_files(self) -> list[DataFileMeta]:
        """The files that change their level, or are rewritten."""
        return [
            file
            for sections, unchanged in self._steps()
            for section in sections
            for run in section.runs
            for file in run
            if not unchanged or file.level != self.unit.output_level
        ]

    def _steps(self) -> Iterator[tuple[list[Section], bool]]:
        """The sections to rewrite together, and, with True, each single file that only changes its level."""
        target = WriteSettings(self.table.schema).target_file_size
        small_size = target * self.table.options.get(compaction.COMPACTION_SMALL_FILE_RATIO)

        def is_rewritten(piece: Section) -> bool:
            return len(piece.runs) > 1 or piece.runs[0][0].file_size < small_size

        pieces = (piece for s in sections_of(self.table.schema, self.unit.files) for piece in _pieces(s))
        for together, group in groupby(pieces, is_rewritten):
            for sections in [list(group)] if together else ([piece] for piece in group):
                yield sections, self._can_move(sections)

    def _can_move(self, sections: list[Section]) -> bool:
        if len(sections) > 1 or len(sections[0].runs) > 1:
            return False
        (file,) = sections[0].runs[0]
        drops_deletes = self.drop_deletes and self.unit.output_level >= max_level(self.table.options)
        forced = self.unit.rewrite or self.table.options.get(compaction.COMPACTION_FORCE_REWRITE_ALL_FILES)
        expired = self.expiry is not None and self.expiry.is_due(self.table, file)
        return not ((drops_deletes and file.delete_row_count != 0) or forced or expired)


def _pieces(section: Section) -> list[Section]:
    """Split a section of one run into its files: they share no key, so each may be moved or rewritten alone."""
    if len(section.runs) > 1:
        return [section]
    return [Section(((f,),)) for f in section.runs[0]]


def plan_compaction(table: Table, base: Snapshot | None, *, full: bool, scope: Scope) -> list[CompactTask]:
    """Plan the compaction of a table with a primary key.

    Args:
        table: the table.
        base: the latest snapshot.
        full: whether all files are compacted to the max level; otherwise those that are due by the strategy.
        scope: the buckets to compact.
    """
    live = scope.of(table, live_files(table, base).entries)
    return _tasks(table, entries(live), base, full=full)


def plan_triggered(
    table: Table,
    base: Snapshot | None,
    messages: Sequence[CommitMessage],
    *,
    overwrite: Overwrite | None = None,
    full: bool = False,
) -> list[CompactTask]:
    """Plan the compactions that become due by new files, in their buckets.

    Args:
        table: the table.
        base: the latest snapshot, which does not contain the messages' files yet.
        messages: the messages to commit.
        overwrite: what the write replaces; None for one that appends.
        full: whether all files of these buckets are compacted to the max level, due or not.
    """
    replaced, added_to = touched_files(table, base, messages, overwrite)
    # The deletion vectors of replaced files are dropped with them.
    return [*_tasks(table, replaced, None, full=full), *_tasks(table, added_to, base, full=full)]


def _tasks(table: Table, files: Iterable[ManifestEntry], base: Snapshot | None, *, full: bool) -> list[CompactTask]:
    """Plan the tasks of files with the deletion vectors of a snapshot."""
    buckets = grouped(((e.partition, e.bucket, e.total_buckets), e.file) for e in files if e.bucket != POSTPONE_BUCKET)
    deletions = grouped((place[:2], (place[2], d)) for place, d in deletions_of(table, base).items())
    vectors = {
        (e.partition, e.bucket): e.file
        for e in index_entries(table, base)
        if e.file.index_type == DELETION_VECTORS_INDEX
    }
    always_full = full or merge_engine(table.schema).merges_all_at_once
    has_vectors, may_drop = table.options.get(DELETION_VECTORS_ENABLED), not table.layout.keeps_deletes
    expiry = RecordExpiration.of(table)
    tasks = []
    for (partition, bucket, total), stored in buckets.items():
        marked = dict(deletions.get((partition, bucket), ()))
        runs = level_runs(stored)
        unit = None if full else pick_due(runs, table.options)
        if full or (unit is not None and always_full):
            expired = {f.file_name for f in stored if expiry is not None and expiry.is_due(table, f)}
            unit = pick_full(runs, table.options, marked.keys() | expired)
        if unit is not None:
            nothing_below = unit.output_level >= max(f.level for f in stored)
            drop_deletes = may_drop and unit.output_level != 0 and (has_vectors or nothing_below)
            in_unit = {f.file_name for f in unit.files}
            below = tuple(f for f in stored if f.level > unit.output_level and f.file_name not in in_unit)
            key = partition, bucket
            index = vectors.get(key)
            deep = frozenset(f.file_name for f in stored if f.level > 0) | ({index.file_name} if index else set())
            tasks.append(CompactTask(table, *key, total, unit, drop_deletes, marked, below, index, expiry, deep))
    return tasks


def plan_postponed(table: Table, base: Snapshot | None, *, scope: Scope, full: bool = False) -> PlannedCompaction:
    """Plan the compaction that moves postponed rows to real buckets and compacts these.

    Args:
        table: the table.
        base: the latest snapshot.
        scope: the partitions to compact.
        full: whether all buckets are compacted fully, also those that get no rows; otherwise only what is due.
    """
    if is_ordered_by_snapshots(table.schema):
        raise UnsupportedError(
            f"{table.name}: postponed rows would lose the order of their snapshots"
            f" ('{SEQUENCE_SNAPSHOT_ORDERING.key}').",
            remedy="Copy the table's rows into one with another 'bucket'.",
        )
    state = WriteState(table, None, base)
    postponed = [e for e in entries(scope.of(table, state.files)) if e.bucket == POSTPONE_BUCKET]
    rest = plan_compaction(table, base, full=full, scope=scope)
    files = [*(e.file for e in postponed), *(f for task in rest for f in task.changed_files)]

    def run(executor: Executor) -> list[CommitMessage]:
        totals = numbers_for_compaction(table.options, amounts(postponed), state.bucket_numbers)
        distribution = plan_distribution(table, postponed, totals, state.sequences)
        with StagedFiles(table) as staged:
            distributed = staged.own(m for written in executor.run(distribution) for m in written)
            touched = {(m.partition, m.bucket) for m in distributed}
            latest, writing = table.snapshots.latest(base), table.with_options({compaction.WRITE_ONLY.key: "false"})
            tasks = plan_triggered(writing, latest, distributed, full=full)
            tasks += [task for task in rest if (task.partition, task.bucket) not in touched]
            merged = run_tasks(table, executor, tasks)
            staged.release_all()
        return as_compaction(table, postponed, distributed, merged)

    return PlannedCompaction(files, run)


class KeyCompactions(CompactLayout):
    """Compactions of primary-key tables, which merge sorted runs."""

    def plan_due(
        self, table: Table, messages: Sequence[CommitMessage], overwrite: Overwrite | None, planned_on: Snapshot | None
    ) -> Run:
        tasks = plan_triggered(table, table.snapshots.latest(planned_on), messages, overwrite=overwrite)
        return lambda executor: run_tasks(table, executor, tasks)

    def plan_compaction(
        self, table: Table, base: Snapshot | None, *, full: bool, scope: Scope, is_explicit: bool
    ) -> PlannedCompaction:
        if bucket_mode(table.schema).is_postponed:
            return plan_postponed(table, base, scope=scope, full=full and is_explicit)
        tasks = plan_compaction(table, base, full=full, scope=scope)
        return PlannedCompaction(
            [f for task in tasks for f in task.changed_files], lambda executor: run_tasks(table, executor, tasks)
        )

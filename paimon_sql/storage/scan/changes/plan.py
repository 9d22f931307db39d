"""Plans of changes, as rows of a change range or by commit, and the facet of table layouts that finds them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import ClassVar

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.storage.data_files.live_files import (
    Deletion,
    LiveFiles,
    ScanMetrics,
    by_bucket,
    deletions_of,
    filter_partitions,
    live_files,
    partition_predicate,
)
from paimon_sql.storage.data_files.lsm_tree import sections_of
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.files_to_read import in_scanned_bucket, live_in_scanned_bucket
from paimon_sql.storage.scan.split import ChangelogSplit, DataEvolutionSplit, DiffSplit, Split, deletions_in, pack
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import (
    CHANGELOG,
    DELTA,
    DIFF,
    ChangeRange,
    has_changelog,
    snapshot_with_changelog,
)
from paimon_sql.storage.table.time_travel.resolve import not_retained


@dataclass(frozen=True)
class CommitSplit:
    """Rows that a commit changed.

    Attributes:
        snapshot: the commit.
        split: the files with the rows.
        kind: the row kind of all rows; None if each row has its own.
        marked: the deletion vector by which the commit deleted rows of the split's only file or group; the other rows
            did not change.
        before: the split's only group before the commit; rows that are equal in both did not change.
        compared: the columns that the commit wrote, in which both may differ.
    """

    snapshot: Snapshot
    split: Split
    kind: RowKind | None = None
    marked: Deletion | None = None
    before: DataEvolutionSplit | None = None
    compared: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChangesPlan:
    """Plans reads of the changes of a table.

    Attributes:
        table: the table, under the options of the read.
        predicate: a condition on columns; its part on partition columns skips files.
        split_bytes: the max bytes of a split that is read row by row.
        metrics: updated with the manifests and files of the plan.
    """

    table: Table
    predicate: Predicate | None
    split_bytes: int
    metrics: ScanMetrics

    @cached_property
    def by_partition(self) -> Predicate | None:
        """The part of the condition on partition columns."""
        return partition_predicate(self.table, self.predicate)

    def splits_by_commit(self, mode: str, snapshot: Snapshot) -> Iterable[Split]:
        """The splits of the files that a commit added to its changelog (``CHANGELOG``) or to the table."""
        name = snapshot.changelog_manifest_list if mode == CHANGELOG else snapshot.delta_manifest_list
        for listed in self.listed_files(name):
            for bucket, files in by_bucket(e for e in listed if e.kind is FileKind.ADD).items():
                self.count(files)
                yield from ChangesLayout.of(self.table).added_splits(self.table, bucket, files, self.split_bytes)

    def listed_files(self, manifest_list: str | None) -> Iterator[list[ManifestEntry]]:
        """The entries of each manifest of a list, in the partitions and the bucket that are read."""
        table, metrics = self.table, self.metrics
        manifests = table.manifests.read_list(manifest_list)
        metrics.manifests += len(manifests)
        metrics.manifests_read += len(manifests)
        for listed in table.manifests.read_all([m.file_name for m in manifests]):
            metrics.files += len(listed)
            yield entries(in_scanned_bucket(table, filter_partitions(table, listed, self.by_partition)))

    def differences(self, first: Snapshot | None, last: Snapshot | None, *, images: bool = False) -> Iterable[Split]:
        """The splits that compare two states of a primary-key table, one per bucket.

        Args:
            first: the earlier state; None is an empty table.
            last: the later state.
            images: whether the old values of updated rows are wanted, too.
        """
        table, metrics = self.table, self.metrics
        before, after = (
            _State(table, live_in_scanned_bucket(table, live_files(table, state, self.by_partition)))
            for state in (first, last)
        )
        for state in (before, after):
            metrics.manifests += state.live.metrics.manifests
            metrics.manifests_read += state.live.metrics.manifests_read
            metrics.files += state.live.metrics.files
        for bucket in sorted({*before.buckets, *after.buckets}):
            old, new = _changed(table, before.split(bucket), after.split(bucket))
            if old.files or new.files:
                self.count([*old.files, *new.files])
                yield DiffSplit(*bucket, new.files, False, new.sections, new.deletions, before=old, images=images)

    def count(self, files: Iterable[DataFileMeta]) -> None:
        """Add files that are read to the metrics."""
        for f in files:
            self.metrics.files_read += 1
            self.metrics.bytes_read += f.file_size


@dataclass(frozen=True)
class CommitChanges(ChangesPlan, ABC):
    """Plans a read of the rows that one commit, ``snapshot``, changed."""

    snapshot: Snapshot

    @abstractmethod
    def splits(self) -> Iterable[CommitSplit]:
        """The rows that the commit changed.

        Raises:
            NoSuchSnapshotError: the state before it is needed, and is not retained.
            UnsupportedError: files hold only some columns of existing rows.
        """

    def rewrites_rows(self) -> bool:
        """Whether the commit copied unchanged rows into new files, as copy-on-write does."""
        return False

    @property
    def has_new_state(self) -> bool:
        """Whether the commit may change rows: compactions do not."""
        return self.snapshot.commit_kind in (CommitKind.APPEND, CommitKind.OVERWRITE)

    def before(self) -> Snapshot | None:
        """The snapshot before the commit; None if it is the first."""
        number = self.snapshot.id - 1
        if number < FIRST_SNAPSHOT_ID:
            return None
        before = self.table.snapshots.find(number)
        if before is None:
            what = f"the changes of snapshot {self.snapshot.id} cannot be determined without the one before it"
            raise not_retained(self.table, what, number)
        return before


class ChangesLayout(TableLayout):
    """The changes of a table.

    Class attributes:
        compares_states: whether two states of the table can be compared row by row.
        commit_changes: plans the changes of a commit.
    """

    compares_states: ClassVar[bool] = False
    commit_changes: ClassVar[type[CommitChanges]]

    def added_splits(
        self, table: Table, bucket: tuple[bytes, int], files: Sequence[DataFileMeta], split_bytes: int
    ) -> Iterable[Split]:
        """The splits of the files that one commit added to a bucket, or to its changelog.

        Raises:
            UnsupportedError: files hold only some columns, of existing rows: read alone, they would give incomplete
                rows.
        """
        for packed in pack(files, lambda f: f.file_size, split_bytes, 0):
            yield ChangelogSplit(*bucket, tuple(packed), False)


def plan_commits(
    table: Table, commits: range, predicate: Predicate | None, split_bytes: int
) -> tuple[list[CommitSplit], ScanMetrics]:
    """Plan a read of the changes of commits: splits and metrics.

    Args:
        table: the table.
        commits: the snapshot ids of the commits.
        predicate: a condition on columns; its part on partition columns skips files.
        split_bytes: the max bytes of a split that is read row by row.

    Raises:
        NoSuchSnapshotError: a commit, or the state before it that is needed, is not retained.
        UnsupportedError: files hold only some columns of existing rows.
    """
    started, metrics = time.monotonic(), ScanMetrics()
    changes = _changes(table, commits, predicate, metrics, split_bytes)
    splits = [split for commit in changes for split in commit.splits()]
    metrics.report(table, commits[-1] if commits else 0, time.monotonic() - started)
    return splits, metrics


def rewrites_rows(table: Table, commits: range) -> bool:
    """Whether commits copied unchanged rows into new files, as copy-on-write does."""
    return any(commit.rewrites_rows() for commit in _changes(table, commits, None, ScanMetrics(), 1))


def _changes(
    table: Table, commits: range, predicate: Predicate | None, metrics: ScanMetrics, split_bytes: int
) -> Iterator[CommitChanges]:
    mode, planned = CHANGELOG if has_changelog(table) else DELTA, ChangesLayout.of(table).commit_changes
    for number in commits:
        yield planned(table, predicate, split_bytes, metrics, snapshot_with_changelog(table, number, mode))


def plan_changes(
    table: Table, span: ChangeRange, predicate: Predicate | None, split_bytes: int
) -> tuple[list[Split], ScanMetrics]:
    """Plan a read of a change range: splits and metrics; the other arguments are those of `ChangesPlan`."""
    started = time.monotonic()
    plan = ChangesPlan(table, predicate, split_bytes, ScanMetrics())
    splits = _splits_of(plan, table, span, span.end) if span.end is not None else []
    plan.metrics.report(table, span.end.id if span.end is not None else 0, time.monotonic() - started)
    return splits, plan.metrics


def _splits_of(plan: ChangesPlan, table: Table, span: ChangeRange, end: Snapshot) -> list[Split]:
    if span.mode == DIFF and ChangesLayout.of(table).compares_states:
        return list(plan.differences(span.before, end))
    # By commit and bucket, so that readers can give the changes in the order of commits.
    splits = (plan.splits_by_commit(span.mode, snapshot) for snapshot in span.commits(table))
    return list(chain.from_iterable(splits))


class _State:
    """The files of a snapshot by bucket, as merge on read sees them."""

    def __init__(self, table: Table, live: LiveFiles) -> None:
        self.live = live
        # Postponed files are not visible before a compaction.
        self.buckets = by_bucket(e for e in entries(live.entries) if e.bucket != POSTPONE_BUCKET)
        self._deletions = deletions_of(table, live.snapshot)

    def split(self, bucket: tuple[bytes, int]) -> Split:
        files = tuple(self.buckets.get(bucket, ()))
        return Split(*bucket, files, False, (), deletions_in(self._deletions, bucket, files))


def _changed(table: Table, old: Split, new: Split) -> tuple[Split, Split]:
    """Both states without the sections that are the same in both."""
    states = [{f.file_name: (f, split.deletions.get(f.file_name)) for f in split.files} for split in (old, new)]
    together = {name: f for state in states for name, (f, _) in state.items()}
    same: set[str] = set()
    for section in sections_of(table.schema, list(together.values())):
        names = {f.file_name for run in section.runs for f in run}
        parts = [{n: state[n] for n in names & state.keys()} for state in states]
        if parts[0] == parts[1]:
            same |= names
    return _without(table, old, same), _without(table, new, same)


def _without(table: Table, split: Split, unchanged: set[str]) -> Split:
    files = [f for f in split.files if f.file_name not in unchanged]
    sections = tuple(sections_of(table.schema, files))
    return replace(split, files=tuple(f for s in sections for run in s.runs for f in run), sections=sections)

"""Plans of change ranges: rows of new files and changelogs, or the difference of two states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.data_files.live_files import (
    LiveFiles,
    ScanMetrics,
    filter_partitions,
    live_files,
    partition_predicate,
)
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.data_files.sections import sections_of
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.data_evolution import added_splits
from paimon_sql.storage.scan.single_bucket import in_scanned_bucket, live_in_scanned_bucket
from paimon_sql.storage.scan.split import ChangelogSplit, DiffSplit, Split
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import CHANGELOG, DIFF, ChangeRange

_Bucket = tuple[bytes, int]


def plan_changes(
    table: Table, span: ChangeRange, predicate: Predicate | None, split_bytes: int
) -> tuple[list[Split], ScanMetrics]:
    """Plan a read of a change range: splits and metrics.

    Args:
        table: the table, under the options of the read.
        span: the change range.
        predicate: a condition on columns; its part on partition columns skips files.
        split_bytes: the max bytes of a split that is read row by row.
    """
    metrics = ScanMetrics()
    if span.end is None:
        return [], metrics
    if span.mode == DIFF and table.schema.primary_keys:
        return list(differences(table, span.before, span.end, predicate, metrics)), metrics
    return list(_split_by_commit(table, span, predicate, metrics, split_bytes)), metrics


def _split_by_commit(
    table: Table, span: ChangeRange, predicate: Predicate | None, metrics: ScanMetrics, split_bytes: int
) -> Iterable[Split]:
    """Split by commit and bucket, so that readers can give the changes in the order of commits."""
    by_partition = partition_predicate(table, predicate)
    for snapshot in span.commits(table):
        yield from splits_by_commit(table, span.mode, snapshot, by_partition, metrics, split_bytes)


def splits_by_commit(
    table: Table, mode: str, snapshot: Snapshot, predicate: Predicate | None, metrics: ScanMetrics, split_bytes: int
) -> Iterable[Split]:
    """The splits of the files that a commit added to its changelog or to the table.

    Args:
        table: the table.
        mode: ``CHANGELOG`` for its changelog.
        snapshot: the commit.
        predicate: a condition on partition columns.
        metrics: updated with the manifests and files of the plan.
        split_bytes: the max bytes of a split.
    """
    name = snapshot.changelog_manifest_list if mode == CHANGELOG else snapshot.delta_manifest_list
    manifests = table.manifests.read_list(name)
    metrics.manifests += len(manifests)
    metrics.manifests_read += len(manifests)
    for listed in table.manifests.read_all([m.file_name for m in manifests]):
        metrics.files += len(listed)
        buckets: dict[_Bucket, list[DataFileMeta]] = {}
        for e in entries(in_scanned_bucket(table, filter_partitions(table, listed, predicate))):
            if e.kind is FileKind.ADD:
                buckets.setdefault((e.partition, e.bucket), []).append(e.file)
        for (partition, bucket), files in buckets.items():
            count_files(metrics, files)
            if has_data_evolution(table):
                yield from added_splits(table, (partition, bucket), files, split_bytes)
                continue
            for group in pack(files, lambda f: f.file_size, split_bytes, 0):
                yield ChangelogSplit(partition, bucket, tuple(group), False)


def differences(
    table: Table,
    first: Snapshot | None,
    last: Snapshot | None,
    predicate: Predicate | None,
    metrics: ScanMetrics,
    *,
    images: bool = False,
) -> Iterable[Split]:
    """The splits that compare two states of a primary-key table, one per bucket.

    Args:
        table: the table.
        first: the earlier state; None is an empty table.
        last: the later state.
        predicate: a condition on columns; its part on partition columns skips files.
        metrics: updated with the manifests and files of the plan.
        images: whether the old values of updated rows are wanted, too.
    """
    by_partition = partition_predicate(table, predicate)
    before = _State(table, live_in_scanned_bucket(table, live_files(table, first, by_partition)))
    after = _State(table, live_in_scanned_bucket(table, live_files(table, last, by_partition)))
    metrics.manifests += after.live.metrics.manifests + before.live.metrics.manifests
    metrics.manifests_read += after.live.metrics.manifests_read + before.live.metrics.manifests_read
    metrics.files += after.live.metrics.files + before.live.metrics.files
    for bucket in sorted({*before.buckets, *after.buckets}):
        old, new = before.split(bucket), after.split(bucket)
        old, new = _changed(table, old, new)
        if old.files or new.files:
            count_files(metrics, [*old.files, *new.files])
            yield DiffSplit(
                new.partition, new.bucket, new.files, False, new.sections, new.deletions, before=old, images=images
            )


class _State:
    """The files of a snapshot by bucket, as merge on read sees them."""

    def __init__(self, table: Table, live: LiveFiles) -> None:
        self.live = live
        self.buckets: dict[_Bucket, list[DataFileMeta]] = {}
        self._deletions: dict[_Bucket, dict[str, Deletion]] = {}
        for e in entries(live.entries):
            if e.bucket == POSTPONE_BUCKET:
                continue  # not visible before a compaction
            self.buckets.setdefault((e.partition, e.bucket), []).append(e.file)
        for (partition, bucket, name), deletion in deletions_of(table, live.snapshot).items():
            self._deletions.setdefault((partition, bucket), {})[name] = deletion

    def split(self, bucket: _Bucket) -> Split:
        files = tuple(self.buckets.get(bucket, ()))
        return Split(*bucket, files, False, (), self._deletions.get(bucket, {}))


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


def count_files(metrics: ScanMetrics, files: Iterable[DataFileMeta]) -> None:
    """Add files that are read to metrics."""
    for f in files:
        metrics.files_read += 1
        metrics.bytes_read += f.file_size

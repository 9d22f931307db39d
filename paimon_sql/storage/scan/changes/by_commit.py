"""Changes of rows by commit.

The changes of a commit with a changelog are its changelog. For other commits to a primary-key table, the states before
and after are compared. In append tables the changes are the rows of added and deleted files, and the rows that deletion
vectors delete. Where a commit wrote some columns only (data evolution), the rows of those groups are compared before
and after. Compactions change no rows, except that they move postponed ones to their buckets, which makes them visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.file_groups import (
    FileGroup,
    file_groups,
    groups_of_entries,
    has_data_evolution,
    stored_fields,
)
from paimon_sql.storage.data_files.live_files import ScanMetrics, filter_partitions, live_files, partition_predicate
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.changes.range import count_files, differences, splits_by_commit
from paimon_sql.storage.scan.data_evolution import added_splits, complete_and_partial, data_evolution_splits
from paimon_sql.storage.scan.single_bucket import in_scanned_bucket
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
from paimon_sql.storage.scan.split_size import SplitSize
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import CHANGELOG, DELTA, snapshot_with_changelog
from paimon_sql.storage.table.time_travel.commit_range import tells_changelog
from paimon_sql.storage.table.time_travel.resolve import retained_range

_Bucket = tuple[bytes, int]
_Deletions = Mapping[tuple[bytes, int, str], Deletion]


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
    metrics = ScanMetrics()
    found: list[CommitSplit] = []
    for snapshot in _commits(table, commits):
        found += _Commit(table, snapshot, predicate, metrics, split_bytes).splits()
    return found, metrics


def rewrites_rows(table: Table, commits: range) -> bool:
    """Whether commits to an append table copied unchanged rows into new files, as copy-on-write does."""
    if table.schema.primary_keys:
        return False
    for snapshot in _commits(table, commits):
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            added, removed = _Commit(table, snapshot, None, ScanMetrics(), 1).moves()
            if added.keys() & removed.keys():
                return True
    return False


def _commits(table: Table, commits: range) -> Iterator[Snapshot]:
    mode = CHANGELOG if tells_changelog(table) else DELTA
    return (snapshot_with_changelog(table, number, mode) for number in commits)


@dataclass(frozen=True)
class _Commit:
    table: Table
    snapshot: Snapshot
    predicate: Predicate | None
    metrics: ScanMetrics
    split_bytes: int

    def splits(self) -> Iterable[CommitSplit]:
        kind = self.snapshot.commit_kind
        moves_postponed = self.table.options.get(BUCKET) == POSTPONE_BUCKET and kind is CommitKind.COMPACT
        changes_state = kind in (CommitKind.APPEND, CommitKind.OVERWRITE) or moves_postponed
        if not self.table.schema.primary_keys:
            return self._of_files() if changes_state else []
        if tells_changelog(self.table) and kind is not CommitKind.OVERWRITE:
            by_partition = partition_predicate(self.table, self.predicate)
            found = splits_by_commit(self.table, CHANGELOG, self.snapshot, by_partition, self.metrics, self.split_bytes)
            return [CommitSplit(self.snapshot, split) for split in found]
        if not changes_state:
            return []
        compared = differences(self.table, self._before(), self.snapshot, self.predicate, self.metrics, images=True)
        return [CommitSplit(self.snapshot, split) for split in compared]

    def _before(self) -> Snapshot | None:
        number = self.snapshot.id - 1
        if number < FIRST_SNAPSHOT_ID:
            return None
        if not self.table.snapshots.exists(number):
            raise NoSuchSnapshotError(
                f"{self.table.name}: what snapshot {self.snapshot.id} changed cannot be told without the one before it:"
                f" {retained_range(self.table)}.",
                name=str(number),
            )
        return self.table.snapshots.get(number)

    def moves(self) -> tuple[dict[_Bucket, list[DataFileMeta]], dict[_Bucket, list[DataFileMeta]]]:
        """The files that the commit added, and those that it deleted, by bucket."""
        by_partition = partition_predicate(self.table, self.predicate)
        manifests = self.table.manifests.read_list(self.snapshot.delta_manifest_list)
        self.metrics.manifests += len(manifests)
        self.metrics.manifests_read += len(manifests)
        found: dict[FileKind, dict[_Bucket, list[DataFileMeta]]] = {FileKind.ADD: {}, FileKind.DELETE: {}}
        for listed in self.table.manifests.read_all([m.file_name for m in manifests]):
            self.metrics.files += len(listed)
            for e in entries(in_scanned_bucket(self.table, filter_partitions(self.table, listed, by_partition))):
                found[e.kind].setdefault((e.partition, e.bucket), []).append(e.file)
        return found[FileKind.ADD], found[FileKind.DELETE]

    def _of_files(self) -> Iterator[CommitSplit]:
        added, removed = self.moves()
        partial: dict[_Bucket, list[DataFileMeta]] = {}
        if has_data_evolution(self.table):
            for bucket, files in added.items():
                added[bucket], partial[bucket] = complete_and_partial(self.table, files)
        partial = {bucket: files for bucket, files in partial.items() if files}
        before = self._before() if removed or partial or self.snapshot.index_manifest is not None else None
        old = deletions_of(self.table, before)
        new = deletions_of(self.table, self.snapshot)
        yield from self._of_complete_rows(removed, old, RowKind.DELETE)
        yield from self._of_complete_rows(added, new, RowKind.INSERT)
        yield from self._of_partial_rows(partial, before, new)
        fresh = {(*bucket, f.file_name) for bucket, files in added.items() for f in files}
        marked = {file: d for file, d in new.items() if file not in fresh and old.get(file) != d}
        if marked:
            yield from self._deleted_by_vectors(marked, old)

    def _of_complete_rows(
        self, buckets: Mapping[_Bucket, list[DataFileMeta]], deletions: _Deletions, kind: RowKind
    ) -> Iterator[CommitSplit]:
        for bucket, files in buckets.items():
            count_files(self.metrics, files)
            if has_data_evolution(self.table):
                found = added_splits(self.table, bucket, files, self.split_bytes)
            else:
                groups = pack(files, lambda f: f.file_size, self.split_bytes, 0)
                found = (Split(*bucket, tuple(group), raw=True) for group in groups)
            for split in found:
                yield CommitSplit(self.snapshot, _raw(split, deletions), kind)

    def _of_partial_rows(
        self, partial: Mapping[_Bucket, list[DataFileMeta]], before: Snapshot | None, deletions: _Deletions
    ) -> Iterator[CommitSplit]:
        """Splits of groups to which the commit added some columns of existing rows, with the groups before it."""
        if not partial:
            return
        old, new = self._groups(before, partial), self._groups(self.snapshot, partial)
        for bucket, files in partial.items():
            written: dict[int, set[int]] = {}
            for file in files:
                fields = stored_fields(self.table.schemas.get(file.schema_id), file)
                for first, group in new[bucket].items():
                    if first <= (file.first_row_id or 0) < first + group.row_count:
                        written.setdefault(first, set()).update(f.id for f in fields)
            for first, ids in written.items():
                compared = tuple(f.name for f in self.table.schema.fields if f.id in ids)
                if compared:  # dropped columns are no change
                    was, now = (self._group_split(bucket, g[bucket][first], deletions) for g in (old, new))
                    count_files(self.metrics, {f.file_name: f for f in (*was.files, *now.files)}.values())
                    yield CommitSplit(self.snapshot, now, before=was, compared=compared)

    def _groups(self, snapshot: Snapshot | None, wanted: Iterable[_Bucket]) -> dict[_Bucket, dict[int, FileGroup]]:
        """The groups of some buckets, by their first row ids."""
        live = live_files(self.table, snapshot, partition_predicate(self.table, self.predicate)).entries
        buckets: dict[_Bucket, list[DataFileMeta]] = {bucket: [] for bucket in wanted}
        for e in entries(live):
            if (e.partition, e.bucket) in buckets:
                buckets[e.partition, e.bucket].append(e.file)
        return {p: {g.first_row_id: g for g in file_groups(self.table, files)[0]} for p, files in buckets.items()}

    def _group_split(self, bucket: _Bucket, group: FileGroup, deletions: _Deletions) -> DataEvolutionSplit:
        deletion = deletions.get((*bucket, group.anchor.file_name))
        by_file = {} if deletion is None else {group.anchor.file_name: deletion}
        return DataEvolutionSplit(*bucket, group.files, raw=False, deletions=by_file, groups=(group,))

    def _deleted_by_vectors(self, marked: _Deletions, old: _Deletions) -> Iterator[CommitSplit]:
        by_partition = partition_predicate(self.table, self.predicate)
        live = in_scanned_bucket(self.table, live_files(self.table, self.snapshot, by_partition).entries)
        chosen = pc.is_in(live["file_name"], value_set=pa.array([name for _, _, name in marked], pa.string()))
        if has_data_evolution(self.table):  # other columns of the rows lie in other files of the group
            numbers = pa.array(groups_of_entries(live))
            chosen = pc.is_in(numbers, value_set=numbers.filter(chosen.combine_chunks()))
        buckets: dict[_Bucket, list[DataFileMeta]] = {}
        for e in entries(live.filter(chosen)):
            buckets.setdefault((e.partition, e.bucket), []).append(e.file)
        for bucket, files in buckets.items():
            count_files(self.metrics, files)
            if has_data_evolution(self.table):
                found = data_evolution_splits(self.table, bucket, files, None, SplitSize(0, 0), lambda file: True)
            else:
                found = (Split(*bucket, (file,), raw=True) for file in files)
            for split in found:
                deletion = marked.get((*bucket, split.anchors[0].file_name))
                if deletion is not None:
                    yield CommitSplit(self.snapshot, _raw(split, old), RowKind.DELETE, deletion)


def _raw(split: Split, deletions: _Deletions) -> Split:
    """The split as a raw one with these deletion vectors."""
    bucket = split.partition, split.bucket
    theirs = {f.file_name: d for f in split.anchors if (d := deletions.get((*bucket, f.file_name))) is not None}
    if isinstance(split, DataEvolutionSplit):
        return replace(split, deletions=theirs)
    return Split(*bucket, split.files, raw=True, deletions=theirs)

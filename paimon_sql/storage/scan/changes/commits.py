"""Changes of a commit to a table of complete rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import live_files, partition_predicate
from paimon_sql.storage.scan.changes.by_commit import ChangesLayout, CommitChanges, CommitSplit
from paimon_sql.storage.scan.changes.range import count_files, differences, listed_files, splits_by_commit
from paimon_sql.storage.scan.layout import BucketScan, ScanLayout
from paimon_sql.storage.scan.selection.single_bucket import in_scanned_bucket
from paimon_sql.storage.scan.split import FileKey, Split
from paimon_sql.storage.scan.split_size import SplitSize
from paimon_sql.storage.table.time_travel.change_range import CHANGELOG
from paimon_sql.storage.table.time_travel.commit_range import has_changelog

Bucket = tuple[bytes, int]
Files = dict[Bucket, list[DataFileMeta]]
Deletions = Mapping[FileKey, Deletion]


@dataclass(frozen=True)
class KeyChanges(CommitChanges):
    """The changes of a commit to a primary-key table: its changelog, or else the difference of the states around it.

    Compactions change no rows, except that they move postponed ones to their buckets, which makes them visible.
    """

    def splits(self) -> Iterable[CommitSplit]:
        return [CommitSplit(self.snapshot, split) for split in self._splits()]

    def _splits(self) -> Iterable[Split]:
        table, kind = self.table, self.snapshot.commit_kind
        if has_changelog(table) and kind is not CommitKind.OVERWRITE:
            by_partition = partition_predicate(table, self.predicate)
            return splits_by_commit(table, CHANGELOG, self.snapshot, by_partition, self.metrics, self.split_bytes)
        moves_postponed = table.options.get(BUCKET) == POSTPONE_BUCKET and kind is CommitKind.COMPACT
        if not (self.has_new_state or moves_postponed):
            return []
        return differences(table, self.before(), self.snapshot, self.predicate, self.metrics, images=True)


@dataclass(frozen=True)
class FileChanges(CommitChanges):
    """The changes of a commit to an append table: rows of added and deleted files, and those that vectors delete."""

    def splits(self) -> Iterator[CommitSplit]:
        if not self.has_new_state:
            return
        added, removed = self.moves()
        partial = self.take_partial(added)
        before = self.before() if removed or partial or self.snapshot.index_manifest is not None else None
        old, new = deletions_of(self.table, before), deletions_of(self.table, self.snapshot)
        yield from self._of_complete_rows(removed, old, RowKind.DELETE)
        yield from self._of_complete_rows(added, new, RowKind.INSERT)
        yield from self.of_partial_rows(partial, before, new)
        fresh = {(*bucket, f.file_name) for bucket, files in added.items() for f in files}
        marked = {file: d for file, d in new.items() if file not in fresh and old.get(file) != d}
        if marked:
            yield from self._deleted_by_vectors(marked, old)

    def rewrites_rows(self) -> bool:
        if self.snapshot.commit_kind is not CommitKind.OVERWRITE:
            return False
        added, removed = self.moves()
        return bool(added.keys() & removed.keys())

    def take_partial(self, added: Files) -> Files:
        """Take the files with only some columns of existing rows out of the added ones, and return them."""
        return {}

    def of_partial_rows(self, partial: Files, before: Snapshot | None, deletions: Deletions) -> Iterator[CommitSplit]:
        """The changed rows of files with only some columns.

        Args:
            partial: the files.
            before: the snapshot before the commit.
            deletions: the deletion vectors after it.
        """
        yield from ()

    def moves(self) -> tuple[Files, Files]:
        """The files that the commit added, and those that it deleted, by bucket."""
        by_partition = partition_predicate(self.table, self.predicate)
        found: dict[FileKind, Files] = {FileKind.ADD: {}, FileKind.DELETE: {}}
        for listed in listed_files(self.table, self.snapshot.delta_manifest_list, by_partition, self.metrics):
            for e in listed:
                found[e.kind].setdefault((e.partition, e.bucket), []).append(e.file)
        return found[FileKind.ADD], found[FileKind.DELETE]

    def _of_complete_rows(
        self, buckets: Mapping[Bucket, Sequence[DataFileMeta]], deletions: Deletions, kind: RowKind
    ) -> Iterator[CommitSplit]:
        layout = ChangesLayout.of(self.table)
        for bucket, files in buckets.items():
            count_files(self.metrics, files)
            for split in layout.added_splits(self.table, bucket, files, self.split_bytes):
                yield CommitSplit(self.snapshot, split.unmerged(deletions), kind)

    def _deleted_by_vectors(self, marked: Deletions, old: Deletions) -> Iterator[CommitSplit]:
        by_partition = partition_predicate(self.table, self.predicate)
        live = in_scanned_bucket(self.table, live_files(self.table, self.snapshot, by_partition).entries)
        chosen = pc.is_in(live["file_name"], value_set=pa.array([name for _, _, name in marked], pa.string()))
        groups = pa.array(FileLayout.of(self.table).groups(live))
        chosen = pc.is_in(groups, value_set=groups.filter(chosen.combine_chunks()))
        buckets: Files = {}
        for e in entries(live.filter(chosen)):
            buckets.setdefault((e.partition, e.bucket), []).append(e.file)
        layout, one_by_one = ScanLayout.of(self.table), BucketScan(self.table, SplitSize(0, 0))
        for bucket, files in buckets.items():
            count_files(self.metrics, files)
            for split in layout.splits(one_by_one, bucket, files):
                deletion = marked.get(split.file_key(split.anchors[0]))
                if deletion is not None:
                    yield CommitSplit(self.snapshot, split.unmerged(old), RowKind.DELETE, deletion)

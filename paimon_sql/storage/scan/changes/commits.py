"""Changes of a commit, by table layout: complete rows, or columns of existing rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.storage.data_files.file_groups import FileGroup, file_groups, groups_of_files, stored_fields
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import Deletion, by_bucket, deletions_of, live_files
from paimon_sql.storage.scan.changes.plan import ChangesLayout, CommitChanges, CommitSplit
from paimon_sql.storage.scan.files_to_read import in_scanned_bucket
from paimon_sql.storage.scan.layout import BucketScan, ScanLayout
from paimon_sql.storage.scan.split import Bucket, DataEvolutionSplit, FileKey, Split, SplitSize, pack
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import CHANGELOG, has_changelog

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
            return self.splits_by_commit(CHANGELOG, self.snapshot)
        moves_postponed = table.options.get(BUCKET) == POSTPONE_BUCKET and kind is CommitKind.COMPACT
        if not (self.has_new_state or moves_postponed):
            return []
        return self.differences(self.before(), self.snapshot, images=True)


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
        found = [e for listed in self.listed_files(self.snapshot.delta_manifest_list) for e in listed]
        added, deleted = (by_bucket(e for e in found if e.kind is kind) for kind in (FileKind.ADD, FileKind.DELETE))
        return added, deleted

    def _of_complete_rows(
        self, buckets: Mapping[Bucket, Sequence[DataFileMeta]], deletions: Deletions, kind: RowKind
    ) -> Iterator[CommitSplit]:
        layout = ChangesLayout.of(self.table)
        for bucket, files in buckets.items():
            self.count(files)
            for split in layout.added_splits(self.table, bucket, files, self.split_bytes):
                yield CommitSplit(self.snapshot, split.unmerged(deletions), kind)

    def _deleted_by_vectors(self, marked: Deletions, old: Deletions) -> Iterator[CommitSplit]:
        live = in_scanned_bucket(self.table, live_files(self.table, self.snapshot, self.by_partition).entries)
        chosen = pc.is_in(live["file_name"], value_set=pa.array([name for _, _, name in marked], pa.string()))
        groups = pa.array(FileLayout.of(self.table).groups(live))
        chosen = pc.is_in(groups, value_set=groups.filter(chosen.combine_chunks()))
        layout, one_by_one = ScanLayout.of(self.table), BucketScan(self.table, SplitSize(0, 0))
        for bucket, files in by_bucket(entries(live.filter(chosen))).items():
            self.count(files)
            for split in layout.splits(one_by_one, bucket, files):
                deletion = marked.get(split.file_key(split.anchors[0]))
                if deletion is not None:
                    yield CommitSplit(self.snapshot, split.unmerged(old), RowKind.DELETE, deletion)


@dataclass(frozen=True)
class GroupChanges(FileChanges):
    """The changed rows by file, and by column where only some were written.

    The rows of groups that the commit wrote columns of are compared before and after.
    """

    def take_partial(self, added: Files) -> Files:
        partial = {}
        for bucket, files in added.items():
            added[bucket], beside = complete_and_partial(self.table, files)
            if beside:
                partial[bucket] = beside
        return partial

    def of_partial_rows(self, partial: Files, before: Snapshot | None, deletions: Deletions) -> Iterator[CommitSplit]:
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
                    was, now = (
                        DataEvolutionSplit.of(bucket, [g[bucket][first]]).unmerged(deletions) for g in (old, new)
                    )
                    self.count({f.file_name: f for f in (*was.files, *now.files)}.values())
                    yield CommitSplit(self.snapshot, now, before=was, compared=compared)

    def _groups(self, snapshot: Snapshot | None, wanted: Iterable[Bucket]) -> dict[Bucket, dict[int, FileGroup]]:
        """The groups of some buckets, by their first row ids."""
        live = live_files(self.table, snapshot, self.by_partition).entries
        buckets = by_bucket(entries(live))
        groups = {p: file_groups(self.table, buckets.get(p, []))[0] for p in wanted}
        return {p: {g.first_row_id: g for g in found} for p, found in groups.items()}


def complete_and_partial(table: Table, files: Sequence[DataFileMeta]) -> tuple[list[DataFileMeta], list[DataFileMeta]]:
    """Divide one commit's files: those that together hold complete rows, and those that hold only some columns."""
    missing: dict[int, set[str]] = {}
    numbered = list(zip(groups_of_files(files), files, strict=True))
    for number, file in numbered:
        names = table.schemas.get(file.schema_id).names
        missing.setdefault(number, set(names)).difference_update(names if file.write_cols is None else file.write_cols)
    return [f for number, f in numbered if not missing[number]], [f for number, f in numbered if missing[number]]


class GroupChangesLayout(ChangesLayout):
    """Changes of groups of files."""

    commit_changes = GroupChanges

    def added_splits(
        self, table: Table, bucket: Bucket, files: Sequence[DataFileMeta], split_bytes: int
    ) -> Iterable[Split]:
        if complete_and_partial(table, files)[1]:
            raise UnsupportedError(
                f"{table.name}: columns were changed in separate files (data evolution), so the changes of rows"
                " cannot be determined.",
                remedy="Read the table itself, or changes of a time in which rows were only added, or use Spark's"
                " CHANGES.",
            )
        known, alone = file_groups(table, files)
        alone = [*alone, *(g.anchor for g in known if g.files == (g.anchor,))]
        yield from super().added_splits(table, bucket, alone, split_bytes)
        for packed in pack([g for g in known if g.files != (g.anchor,)], lambda g: g.size, split_bytes, 0):
            yield DataEvolutionSplit.of(bucket, packed)

"""Changes of a commit to a table with data evolution, which may write some columns of existing rows only.

The rows of groups that it wrote columns of are compared before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.file_groups import FileGroup, file_groups, group_numbers, stored_fields
from paimon_sql.storage.data_files.live_files import live_files, partition_predicate
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.scan.changes.by_commit import ChangesLayout, CommitSplit
from paimon_sql.storage.scan.changes.commits import Bucket, Deletions, FileChanges, Files
from paimon_sql.storage.scan.changes.range import count_files
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class GroupChanges(FileChanges):
    """The changed rows by file, and by column where only some were written."""

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
                    count_files(self.metrics, {f.file_name: f for f in (*was.files, *now.files)}.values())
                    yield CommitSplit(self.snapshot, now, before=was, compared=compared)

    def _groups(self, snapshot: Snapshot | None, wanted: Iterable[Bucket]) -> dict[Bucket, dict[int, FileGroup]]:
        """The groups of some buckets, by their first row ids."""
        live = live_files(self.table, snapshot, partition_predicate(self.table, self.predicate)).entries
        buckets: Files = {bucket: [] for bucket in wanted}
        for e in entries(live):
            if (e.partition, e.bucket) in buckets:
                buckets[e.partition, e.bucket].append(e.file)
        return {p: {g.first_row_id: g for g in file_groups(self.table, files)[0]} for p, files in buckets.items()}


def complete_and_partial(table: Table, files: Sequence[DataFileMeta]) -> tuple[list[DataFileMeta], list[DataFileMeta]]:
    """Divide one commit's files: those that together hold complete rows, and those that hold only some columns."""
    missing: dict[int, set[str]] = {}
    numbers = group_numbers(
        np.array([-1 if f.first_row_id is None else f.first_row_id for f in files], dtype=np.int64),
        np.array([f.row_count for f in files], dtype=np.int64),
    ).tolist()
    for number, file in zip(numbers, files, strict=True):
        names = table.schemas.get(file.schema_id).names
        missing.setdefault(number, set(names)).difference_update(names if file.write_cols is None else file.write_cols)
    numbered = list(zip(numbers, files, strict=True))
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

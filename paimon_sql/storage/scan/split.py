"""Splits: the files of one bucket that one reader reads, and their sizes (Paimon: `Split`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, TypeVar

import numpy as np

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE
from paimon_sql.storage.data_files.file_groups import FileGroup, FileSet
from paimon_sql.storage.data_files.live_files import Deletion
from paimon_sql.storage.data_files.lsm_tree import Section
from paimon_sql.storage.data_files.pruning.file_indexes import IndexedRows
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.table.record_expiration import RecordExpiration
from paimon_sql.storage.table.table import Table

Bucket = tuple[bytes, int]
"""A partition, serialised, and a bucket."""
FileKey = tuple[bytes, int, str]
"""The identity of a file in its table: partition, bucket and name."""


@dataclass(frozen=True)
class Origin:
    """Branch and partition of a file that a split takes from another branch or partition."""

    table: Table
    partition: bytes


@dataclass(frozen=True)
class Split(FileSet):
    """Files of one bucket that one reader reads.

    Attributes:
        partition: the partition, serialised.
        bucket: the bucket.
        files: the files of a raw split, or all files of the sections.
        raw: whether files are read one by one; otherwise the sections are merged one by one.
        sections: the sections to merge.
        deletions: deletion vectors, by file name.
        expiry: drops expired rows while sections are merged, in compactions; None in reads, which show them.
        table: the branch of the files, if it is not the one that is read.
        origins: branch and partition of each file, by file name, if they come from several; the rows get the split's
            partition.
        row_ids: the rows that a global index selects; others may be skipped. None for all.
        indexed_rows: how many rows match the condition, by the indexes of the files; None if unknown.
        total_buckets: the number of buckets of the partition when the files were written; 0 if unknown or not the same
            for all of them.

    Class attributes:
        holds_rows: whether each file holds complete rows of the bucket.
        shows_changes: whether rows are read as changes, not as a state.
    """

    holds_rows: ClassVar[bool] = True
    shows_changes: ClassVar[bool] = False

    partition: bytes
    bucket: int
    files: tuple[DataFileMeta, ...]
    raw: bool
    sections: tuple[Section, ...] = ()
    deletions: Mapping[str, Deletion] = field(default_factory=dict)
    expiry: RecordExpiration | None = None
    table: Table | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict)
    row_ids: RowIds | None = None
    indexed_rows: IndexedRows | None = None
    total_buckets: int = 0

    @property
    def is_of_its_bucket(self) -> bool:
        """Whether each file lies in the bucket, partition and branch that are read, and holds complete rows."""
        return type(self) is Split and self.table is None and not self.origins

    @property
    def row_count(self) -> int:
        """The number of rows in the files, before merging, deleted ones included."""
        return sum(f.row_count for f in self.anchors)

    @property
    def anchors(self) -> Sequence[DataFileMeta]:
        """The files that count each row once; deletion vectors refer to their names."""
        return self.files

    @property
    def merges_rows(self) -> bool:
        """Whether a read may give fewer rows than the files hold, deletion vectors aside."""
        return not self.raw

    def file_key(self, file: DataFileMeta) -> FileKey:
        """The identity of a file of the split."""
        return self.partition, self.bucket, file.file_name

    def without(self, unwanted: Collection[FileKey], unwanted_keys: Collection[FileKey] = ()) -> Split:
        """The split without unwanted files; the result may be empty.

        Args:
            unwanted: files without a wanted row; if files are merged, only complete sections of them are dropped.
            unwanted_keys: files without the key of a wanted row; if files are merged, they are dropped one by one.
        """
        if self.raw:
            wanted = tuple(f for f in self.files if self.file_key(f) not in unwanted)
            return self if len(wanted) == len(self.files) else replace(self, files=wanted)
        sections = []
        for section in self.sections:
            if all(self.file_key(f) in unwanted for run in section.runs for f in run):
                continue
            runs = (tuple(f for f in run if self.file_key(f) not in unwanted_keys) for run in section.runs)
            remaining = tuple(run for run in runs if run)
            if remaining:
                sections.append(Section(remaining))
        files = tuple(f for section in sections for run in section.runs for f in run)
        return self if len(files) == len(self.files) else replace(self, files=files, sections=tuple(sections))

    def unmerged(self, deletions: Mapping[FileKey, Deletion]) -> Split:
        """The split as one whose rows are read as the files hold them, with these deletion vectors."""
        return Split(self.partition, self.bucket, self.files, raw=True, deletions=self.own_deletions(deletions))

    def own_deletions(self, deletions: Mapping[FileKey, Deletion]) -> dict[str, Deletion]:
        """The deletion vectors of the split's files, by file name."""
        return deletions_in(deletions, (self.partition, self.bucket), self.anchors)


def deletions_in(
    deletions: Mapping[FileKey, Deletion], bucket: Bucket, files: Iterable[DataFileMeta]
) -> dict[str, Deletion]:
    """The deletion vectors of files of a partition's bucket, by file name."""
    found = {f.file_name: deletions.get((*bucket, f.file_name)) for f in files}
    return {name: deletion for name, deletion in found.items() if deletion is not None}


@dataclass(frozen=True)
class DataEvolutionSplit(Split):
    """Groups of files that hold columns of the same rows (data evolution); ``files`` are those of all ``groups``."""

    holds_rows = False

    groups: tuple[FileGroup, ...] = ()

    @classmethod
    def of(cls, bucket: Bucket, groups: Sequence[FileGroup]) -> DataEvolutionSplit:
        """The split of groups of a bucket."""
        return cls(*bucket, tuple(f for g in groups for f in g.files), raw=False, groups=tuple(groups))

    @property
    def anchors(self) -> Sequence[DataFileMeta]:
        return [group.anchor for group in self.groups]

    @property
    def merges_rows(self) -> bool:
        return False

    def without(self, unwanted: Collection[FileKey], unwanted_keys: Collection[FileKey] = ()) -> Split:
        groups = tuple(g for g in self.groups if self.file_key(g.anchor) not in unwanted)
        if len(groups) == len(self.groups):
            return self
        return replace(self, groups=groups, files=tuple(f for g in groups for f in g.files))

    def unmerged(self, deletions: Mapping[FileKey, Deletion]) -> DataEvolutionSplit:
        return replace(self, deletions=self.own_deletions(deletions))


@dataclass(frozen=True)
class ChangelogSplit(Split):
    """Files whose rows are read as written, each with its row kind."""

    shows_changes = True


@dataclass(frozen=True)
class DiffSplit(Split):
    """The difference of a bucket's merged files to those of an earlier state, ``before``.

    ``images`` is whether the old values of updated rows are wanted, too.
    """

    shows_changes = True

    before: Split | None = None
    images: bool = False

    @property
    def size(self) -> int:
        """The size of both states' files in bytes."""
        return super().size + (self.before.size if self.before else 0)


SPLIT_BYTES = SOURCE_SPLIT_TARGET_SIZE.default
OPEN_COST = SOURCE_SPLIT_OPEN_FILE_COST.default
_MIN_RANGE = 1024 * 1024


@dataclass(frozen=True)
class SplitSize:
    """How files, or sections of files, are packed into splits.

    Attributes:
        target: the bytes of one split; a file or section that cannot be divided may be larger.
        open_cost: the min bytes that a file counts as, for the time to open it.
    """

    target: int = SPLIT_BYTES
    open_cost: int = OPEN_COST

    @classmethod
    def of(cls, options: TableOptions, engine: SplitSize | None = None) -> SplitSize:
        """The size that options set.

        Args:
            options: the table's options, overridden by those of the session and of the read.
            engine: the engine's settings, for options that are not set; by default 128 MB and 4 MB.
        """
        base = engine or cls()
        target, cost = SOURCE_SPLIT_TARGET_SIZE, SOURCE_SPLIT_OPEN_FILE_COST
        return cls(
            options.get(target) if options.has(target) else base.target,
            options.get(cost) if options.has(cost) else base.open_cost,
        )

    def shared(self, size: int, files: int, readers: int) -> SplitSize:
        """The size with a target small enough to give work to all readers (Paimon: ``BinPackingSplits``).

        Args:
            size: the bytes to read.
            files: the number of files.
            readers: the number of parallel readers.
        """
        share = (size + files * self.open_cost) // max(1, readers)
        return replace(self, target=min(self.target, max(self.open_cost, share)))

    @property
    def range_size(self) -> int:
        """The bytes of a range of a divided file, large enough to be worth the opening."""
        return max(self.target, self.open_cost, _MIN_RANGE)


STREAM_SPLITS = SplitSize()
"""The size of splits in streams. Positions of streams count splits, so no option may change it under a checkpoint."""


T = TypeVar("T")


def pack(items: Iterable[T], weight: Callable[[T], int], target: int, least: int = 0) -> list[list[T]]:
    """Group items in order.

    Args:
        items: the items.
        weight: returns the size of an item.
        target: max size of a group with more than one item.
        least: min size of an item, as opening a file has a fixed cost.
    """
    groups: list[list[T]] = []
    group_size = 0
    for item in items:
        size = max(weight(item), least)
        if not groups or group_size + size > target:
            groups.append([])
            group_size = 0
        groups[-1].append(item)
        group_size += size
    return groups


def divide(items: Sequence[T], weight: Callable[[T], int], target: int, readers: int) -> list[list[T]]:
    """Divide items in order into groups of about the same size, so that parallel readers finish at about the same time.

    Args:
        items: the items.
        weight: returns the size of an item.
        target: max size of a group, roughly.
        readers: the number of parallel readers; the number of groups is a multiple of it, if there are enough items.
    """
    sizes = np.array([weight(item) for item in items], dtype=np.int64)
    total = int(sizes.sum())
    if not total:
        return [list(items)] if items else []
    groups = readers * -(-total // (max(1, target) * readers))
    # An item belongs to the group in which its middle lies.
    middles = np.cumsum(sizes) - sizes / 2
    owners = np.minimum(middles * groups // total, groups - 1)
    bounds = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(items)]
    return [list(items[start:end]) for start, end in pairwise(bounds)]

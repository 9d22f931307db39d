"""Splits: the files of one bucket that one reader reads (Paimon: `Split`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.storage.data_files.deletion_vectors import Deletion
from paimon_sql.storage.data_files.file_groups import FileGroup
from paimon_sql.storage.data_files.sections import Section
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.table.record_expiration import RecordExpiration
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Origin:
    """Branch and partition of a file that a split takes from another branch or partition."""

    table: Table
    partition: bytes


@dataclass(frozen=True)
class Split:
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
        total_buckets: the number of buckets of the partition when the files were written; 0 if unknown or not the same
            for all of them.
    """

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
    total_buckets: int = 0

    @property
    def is_of_its_bucket(self) -> bool:
        """Whether each file lies in the bucket, partition and branch that are read, and holds complete rows."""
        return type(self) is Split and self.table is None and not self.origins

    @property
    def size(self) -> int:
        """The size of the files in bytes."""
        return sum(f.file_size for f in self.files)

    @property
    def row_count(self) -> int:
        """The number of rows in the files, before merging, deleted ones included."""
        return sum(f.row_count for f in self.files)

    @property
    def anchors(self) -> Sequence[DataFileMeta]:
        """The files that count each row once; deletion vectors refer to their names."""
        return self.files

    @property
    def merges_rows(self) -> bool:
        """Whether a read may give fewer rows than the files hold, deletion vectors aside."""
        return not self.raw


@dataclass(frozen=True)
class DataEvolutionSplit(Split):
    """Groups of files that hold columns of the same rows (data evolution); ``files`` are those of all ``groups``."""

    groups: tuple[FileGroup, ...] = ()

    @property
    def row_count(self) -> int:
        """The number of rows, deleted ones included."""
        return sum(group.row_count for group in self.groups)

    @property
    def anchors(self) -> Sequence[DataFileMeta]:
        return [group.anchor for group in self.groups]

    @property
    def merges_rows(self) -> bool:
        return False


@dataclass(frozen=True)
class ChangelogSplit(Split):
    """Files whose rows are read as written, each with its row kind."""


@dataclass(frozen=True)
class DiffSplit(Split):
    """The difference of a bucket's merged files to those of an earlier state, ``before``.

    ``images`` is whether the old values of updated rows are wanted, too.
    """

    before: Split | None = None
    images: bool = False

    @property
    def size(self) -> int:
        """The size of both states' files in bytes."""
        return super().size + (self.before.size if self.before else 0)

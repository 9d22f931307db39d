"""Splits: what one reader reads, always files of one bucket."""

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
    """Where a file stands that a split has from elsewhere: its branch and its partition."""

    table: Table
    partition: bytes


@dataclass(frozen=True)
class Split:
    """Files of one bucket that one reader reads.

    ``files`` are read one by one if ``raw``; otherwise ``sections`` are merged one after the other, and ``files`` are
    all of theirs. ``deletions`` are the deletion vectors of those files that have one, by file name. Rows that have
    expired by ``expiry`` are passed over when sections are merged, as compactions do; reads show them. ``table`` is the
    branch that the files are of, if a read of another one takes them too. Files of several branches and partitions have
    their ``origins`` by file name, and their rows bear the split's partition. ``row_ids`` are the rows that may be
    wanted, if a global index tells them; others may be passed over. ``total_buckets`` says how many buckets the
    partition had when the files were written, and is 0 where that is not known to be the same for all of them.
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
        """Whether each file stands in the bucket, partition and branch that are read, and holds whole rows."""
        return type(self) is Split and self.table is None and not self.origins

    @property
    def size(self) -> int:
        """The size of the files in bytes."""
        return sum(f.file_size for f in self.files)

    @property
    def row_count(self) -> int:
        """The rows in the files, before merging and with deleted ones."""
        return sum(f.row_count for f in self.files)

    @property
    def anchors(self) -> Sequence[DataFileMeta]:
        """The files that stand for all rows, each row once; deletion vectors go by their names."""
        return self.files

    @property
    def merges_rows(self) -> bool:
        """Whether reading may give fewer rows than the files hold, deletion vectors aside."""
        return not self.raw


@dataclass(frozen=True)
class DataEvolutionSplit(Split):
    """Files of which several hold columns of the same rows; ``files`` are those of all ``groups``."""

    groups: tuple[FileGroup, ...] = ()

    @property
    def row_count(self) -> int:
        """The rows, with deleted ones."""
        return sum(group.row_count for group in self.groups)

    @property
    def anchors(self) -> Sequence[DataFileMeta]:
        return [group.anchor for group in self.groups]

    @property
    def merges_rows(self) -> bool:
        return False


@dataclass(frozen=True)
class ChangelogSplit(Split):
    """Files whose rows are told one by one as they were written, each with its kind."""


@dataclass(frozen=True)
class DiffSplit(Split):
    """A bucket's files at one time, merged, against those at an earlier one.

    ``images`` asks for what changed rows were before, too.
    """

    before: Split | None = None
    images: bool = False

    @property
    def size(self) -> int:
        """The size of both states' files in bytes."""
        return super().size + (self.before.size if self.before else 0)

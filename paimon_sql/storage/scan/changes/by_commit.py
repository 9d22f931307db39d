"""Changes of rows by commit, and the facet of table layouts that finds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.storage.data_files.deletion_vectors import Deletion
from paimon_sql.storage.data_files.live_files import ScanMetrics
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.split import ChangelogSplit, DataEvolutionSplit, Split
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import CHANGELOG, DELTA, snapshot_with_changelog
from paimon_sql.storage.table.time_travel.commit_range import has_changelog
from paimon_sql.storage.table.time_travel.resolve import retained_range


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
class CommitChanges(ABC):
    """Plans a read of the rows that one commit changed.

    Attributes:
        table: the table.
        snapshot: the commit.
        predicate: a condition on columns; its part on partition columns skips files.
        metrics: updated with the manifests and files of the plan.
        split_bytes: the max bytes of a split that is read row by row.
    """

    table: Table
    snapshot: Snapshot
    predicate: Predicate | None
    metrics: ScanMetrics
    split_bytes: int

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
            raise NoSuchSnapshotError(
                f"{self.table.name}: the changes of snapshot {self.snapshot.id} cannot be determined without the"
                f" one before it: {retained_range(self.table)}.",
                name=str(number),
            )
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
    metrics = ScanMetrics()
    changes = _changes(table, commits, predicate, metrics, split_bytes)
    return [split for commit in changes for split in commit.splits()], metrics


def rewrites_rows(table: Table, commits: range) -> bool:
    """Whether commits copied unchanged rows into new files, as copy-on-write does."""
    return any(commit.rewrites_rows() for commit in _changes(table, commits, None, ScanMetrics(), 1))


def _changes(
    table: Table, commits: range, predicate: Predicate | None, metrics: ScanMetrics, split_bytes: int
) -> Iterator[CommitChanges]:
    mode, planned = CHANGELOG if has_changelog(table) else DELTA, ChangesLayout.of(table).commit_changes
    for number in commits:
        yield planned(table, snapshot_with_changelog(table, number, mode), predicate, metrics, split_bytes)

"""Changes of rows by commit, as the table's layout finds them."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.storage.data_files.live_files import ScanMetrics
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.changes.layout import ChangesLayout, CommitChanges, CommitSplit
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import CHANGELOG, DELTA, snapshot_with_changelog
from paimon_sql.storage.table.time_travel.commit_range import tells_changelog


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
    mode, planned = CHANGELOG if tells_changelog(table) else DELTA, ChangesLayout.of(table).commit_changes
    for number in commits:
        yield planned(table, snapshot_with_changelog(table, number, mode), predicate, metrics, split_bytes)

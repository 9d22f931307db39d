"""Compactions of tables of any layout: on demand, and those that become due by a write."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.storage.commit.checks.append_only import growth_error, is_append_only
from paimon_sql.storage.compact.compaction import PlannedCompaction
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.merge.snapshot_order import is_ordered_by_snapshots
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table


class CompactLayout(TableLayout):
    """Facet of table layouts: how files are compacted."""

    @abstractmethod
    def compact_due(
        self,
        table: Table,
        messages: Sequence[CommitMessage],
        executor: Executor,
        overwrite: Overwrite | None,
        planned_on: Snapshot | None,
    ) -> list[CommitMessage]:
        """Run the compactions that become due by new files; arguments as of the function `compact_due`."""

    @abstractmethod
    def plan_compaction(
        self, table: Table, base: Snapshot | None, *, full: bool, scope: Scope, asked: bool
    ) -> PlannedCompaction:
        """Plan the compaction of a snapshot; arguments as of `plan_table`."""


def compact_due(
    table: Table,
    messages: Sequence[CommitMessage],
    executor: Executor,
    overwrite: Overwrite | None = None,
    planned_on: Snapshot | None = None,
) -> list[CommitMessage]:
    """Run the compactions that become due by new files, in their buckets; none for write-only tables.

    Nor for tables whose rows are ordered by snapshots: the new files have no snapshot yet.

    Args:
        table: the table, whose latest snapshot does not contain the messages' files yet.
        messages: the messages to commit.
        executor: runs the tasks.
        overwrite: what the write replaces; None for one that appends.
        planned_on: the snapshot that the write was planned on, which is not read again if it is still the latest.
    """
    if table.options.get(WRITE_ONLY) or is_append_only(table) or is_ordered_by_snapshots(table.schema):
        return []
    return CompactLayout.of(table).compact_due(table, messages, executor, overwrite, planned_on)


def plan_table(table: Table, *, full: bool, scope: Scope = EVERYTHING, asked: bool = True) -> PlannedCompaction:
    """Plan the compaction of the latest snapshot of a table.

    Args:
        table: the table.
        full: whether all files are compacted; otherwise those that are due.
        scope: the buckets to compact.
        asked: whether the user set ``full``; with postponed buckets, buckets that get no rows are compacted fully only
            then.

    Raises:
        UnsupportedError: the table's files must not change.
    """
    if (refusal := growth_error(table, CommitKind.COMPACT)) is not None:
        raise refusal
    latest = table.snapshots.latest()
    return CompactLayout.of(table).plan_compaction(table, latest, full=full, scope=scope, asked=asked)


def compact_table(
    table: Table, executor: Executor, *, full: bool, scope: Scope = EVERYTHING, asked: bool = True
) -> list[CommitMessage]:
    """Plan and run the compaction of a table (see `plan_table`); return what to commit."""
    return plan_table(table, full=full, scope=scope, asked=asked).run(executor)

"""The state of a table that a read would see, without planning it: its snapshot, and whether its rows changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import pairwise

from paimon_sql.errors import PaimonError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.operations import scan
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.partition import RECORD_LEVEL_EXPIRE_TIME
from paimon_sql.storage.data_files.lsm_tree import reads_compacted
from paimon_sql.storage.materialized.refresh import SourceState, keeps_rows
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.scan.files_to_read import OTHER_BRANCHES
from paimon_sql.storage.scan.layout import ScanLayout
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS


def snapshot_to_read(table: Table) -> Snapshot | None:
    """The snapshot that a scan plan of the table would have now; None for an empty table.

    Args:
        table: the table, under the options of the read.

    Raises: as `ScanLayout.scanned_version` and `change_range_to_read`.
    """
    span = change_range_to_read(table)
    return ScanLayout.of(table).scanned_version(table).snapshot if span is None else span.end


def depends_on_snapshot_alone(table: Table) -> bool:
    """Whether a read sees all rows of a snapshot: no change range, no min creation time of files, no single bucket."""
    options = table.options
    some = (scan.SCAN_CREATION_TIME_MILLIS, scan.SCAN_FILE_CREATION_TIME_MILLIS, scan.SCAN_BUCKET)
    return (
        sees_one_branch(table)
        and not any(options.has(option) for option in some)
        and change_range_to_read(table) is None
    )


def sees_one_branch(table: Table) -> bool:
    """Whether a read sees no other branch, which would have a snapshot of its own."""
    return OTHER_BRANCHES.isdisjoint(table.schema.options)


_CHANGES = "incremental-"


class RowChange(Enum):
    """How a table's rows changed since a state of it was read."""

    SAME = "same"
    """The rows are the same."""
    APPENDED = "appended"
    """Rows were added, none changed or removed."""
    CHANGED = "changed"
    """Another change, or an unknown one."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison, and its reason in a few words."""

    since: RowChange
    why: str


def is_tracked(table: Table) -> bool:
    """Whether the snapshot of a table's own branch determines all rows of a read, under the options of the read."""
    options = table.schema.options
    if any(key in TRAVEL_KEYS | OTHER_BRANCHES or key.startswith(_CHANGES) for key in options):
        return False
    aged = table.options.get(RECORD_LEVEL_EXPIRE_TIME) is not None
    partly = table.options.has(scan.SCAN_MODE) or table.options.has(scan.SCAN_BUCKET)
    return not aged and not partly and not table.read_optimized


def state_of(table: Table, snapshot: Snapshot | None) -> SourceState:
    """The state of a table at a snapshot, as a refresh records it."""
    number, millis = (snapshot.id, snapshot.time_millis) if snapshot else (None, None)
    return SourceState(table.name, table.branch, number, millis, table.schema.id)


def compared(table: Table, latest: Snapshot | None, before: SourceState) -> Comparison:
    """Compare two states of a tracked table.

    Args:
        table: the table.
        latest: its current snapshot.
        before: its earlier state.
    """
    now = state_of(table, latest)
    if now == before:
        at = "has no snapshot yet" if latest is None else f"is still at snapshot {latest.id}"
        return Comparison(RowChange.SAME, f"{table.name} {at}")
    changed = partial(Comparison, RowChange.CHANGED)
    if not _same_columns(table, now, before):
        return changed(f"the columns of {table.name} have changed")
    if before.snapshot is None:
        return changed(f"{table.name} had no snapshot then")
    seen = SnapshotView(table.snapshots, filter(None, [latest]))
    known = seen.find(before.snapshot)
    if latest is None or latest.id < before.snapshot or known is None or known.time_millis != before.time_millis:
        return changed(f"{table.name} does not continue from snapshot {before.snapshot}, which was read")
    ids = range(before.snapshot + 1, latest.id + 1)
    later = [found for i in ids if (found := seen.find(i)) is not None]
    if len(later) < len(ids):
        return changed(f"snapshots of {table.name} have expired since the last refresh")
    writes = [s for s in later if not _same_rows(table, s)]
    if not writes:
        return Comparison(RowChange.SAME, f"{table.name} still has the rows of snapshot {before.snapshot}")
    what = f"{table.name} went from snapshot {before.snapshot} to {latest.id}"
    named = any(table.tags.exists(str(i)) for i in (before.snapshot, latest.id))  # a range would end at the tags
    if named or not table.layout.has_final_rows or not _only_appends(known, later):
        return changed(what)
    return Comparison(RowChange.APPENDED, what)


def _same_columns(table: Table, now: SourceState, before: SourceState) -> bool:
    """Whether both states have the same columns, as after a change of options only."""
    if now.schema == before.schema:
        return True
    try:
        return table.schemas.get(before.schema).fields == table.schemas.get(now.schema).fields
    except PaimonError:
        return False


def _same_rows(table: Table, snapshot: Snapshot) -> bool:
    """Whether a snapshot changes no visible rows; a compaction does where reads see only compacted rows."""
    if snapshot.commit_kind is CommitKind.COMPACT and table.schema.has_key:
        return not reads_compacted(table) and table.options.get(BUCKET) != POSTPONE_BUCKET
    return keeps_rows(snapshot)


def _only_appends(first: Snapshot, later: list[Snapshot]) -> bool:
    """Whether consecutive snapshots only add rows; new index files may be deletion vectors, so they do not qualify."""
    return all(
        keeps_rows(s) or (s.commit_kind is CommitKind.APPEND and s.index_manifest == before.index_manifest)
        for before, s in pairwise([first, *later])
    )

"""Source tables of a query: their states, and whether their rows changed since a refresh."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from paimon_sql.errors import NoSuchSnapshotError, PaimonError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.operations.scan import SCAN_BUCKET, SCAN_MODE
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.partition import RECORD_LEVEL_EXPIRE_TIME
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.data_files.visibility import reads_compacted
from paimon_sql.storage.materialized.state import SourceState, keeps_rows
from paimon_sql.storage.scan.branches.fallback import OTHER_BRANCHES
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_CHANGES = "incremental-"


class RowChange(Enum):
    """How a table's rows changed since a state of it was read."""

    SAME = "same"
    """The rows are the same."""
    APPENDED = "appended"
    """Rows were added, none changed or removed."""
    CHANGED = "changed"
    """Any other change, or an unknown one."""


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
    partly = table.options.has(SCAN_MODE) or table.options.has(SCAN_BUCKET)
    return not aged and not partly and not table.read_optimized and Chain.read_by(table) is None


def state_of(table: Table, snapshot: Snapshot | None) -> SourceState:
    """The state of a table at a snapshot, as a refresh records it."""
    number, millis = (snapshot.id, snapshot.time_millis) if snapshot else (None, None)
    return SourceState(table.name, table.branch, number, millis, table.schema.id)


def compared(table: Table, now: SourceState, before: SourceState) -> Comparison:
    """Compare two states of a tracked table.

    Args:
        table: the table.
        now: its current state.
        before: its earlier state.
    """
    if now == before:
        at = "has no snapshot yet" if now.snapshot is None else f"is still at snapshot {now.snapshot}"
        return Comparison(RowChange.SAME, f"{table.name} {at}")
    if not _same_columns(table, now, before):
        return Comparison(RowChange.CHANGED, f"the columns of {table.name} have changed")
    if before.snapshot is None:
        return Comparison(RowChange.CHANGED, f"{table.name} had no snapshot then")
    known = _known(table, before)
    if now.snapshot is None or known is None or now.snapshot < before.snapshot:
        return Comparison(
            RowChange.CHANGED, f"{table.name} does not lead on from snapshot {before.snapshot}, which was read"
        )
    try:
        later = [table.snapshots.get(i) for i in range(before.snapshot + 1, now.snapshot + 1)]
    except NoSuchSnapshotError:
        return Comparison(RowChange.CHANGED, f"snapshots of {table.name} have expired since the last refresh")
    writes = [s for s in later if not _same_rows(table, s)]
    if not writes:
        return Comparison(RowChange.SAME, f"{table.name} has the rows of snapshot {before.snapshot} still")
    what = f"{table.name} went from snapshot {before.snapshot} to {now.snapshot}"
    named = any(table.tags.exists(str(i)) for i in (before.snapshot, now.snapshot))  # a range would end at the tags
    if named or table.schema.primary_keys or has_data_evolution(table) or not _only_appends(known, later):
        return Comparison(RowChange.CHANGED, what)
    return Comparison(RowChange.APPENDED, what)


def _same_columns(table: Table, now: SourceState, before: SourceState) -> bool:
    """Whether both states have the same columns, as after a change of options only."""
    if now.schema == before.schema:
        return True
    try:
        return table.schemas.get(before.schema).fields == table.schemas.get(now.schema).fields
    except PaimonError:
        return False


def _known(table: Table, state: SourceState) -> Snapshot | None:
    """The snapshot of a state; None if the table does not have it any more."""
    if state.snapshot is None:
        return None
    try:
        found = table.snapshots.get(state.snapshot)
    except NoSuchSnapshotError:
        return None
    return found if found.time_millis == state.time_millis else None


def _same_rows(table: Table, snapshot: Snapshot) -> bool:
    """Whether a snapshot changes no visible rows; a compaction does where reads see only compacted rows."""
    if snapshot.commit_kind is CommitKind.COMPACT and table.schema.primary_keys:
        return not reads_compacted(table) and table.options.get(BUCKET) != POSTPONE_BUCKET
    return keeps_rows(snapshot)


def _only_appends(first: Snapshot, later: list[Snapshot]) -> bool:
    """Whether consecutive snapshots only add rows; new index files may be deletion vectors, so they do not qualify."""
    for before, snapshot in zip([first, *later], later, strict=False):
        if keeps_rows(snapshot):
            continue
        if snapshot.commit_kind is not CommitKind.APPEND or snapshot.index_manifest != before.index_manifest:
            return False
    return True

"""Expiry carried out: in rounds of a few snapshots each, so that memory stays bounded and a crash loses little.

A round first moves the hint ``EARLIEST`` past the snapshots that go: from then on nobody reads, tags or rolls back to
them. Then it makes sure that no tag or branch came since its plan was made: whoever makes one looks at the hint after
writing it, so that one of the two sees the other. Files are removed next, the snapshots' own files last: what a crash
leaves stands below the hint, where the next run finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.maintenance.snapshots.changelogs import expire_changelogs
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.retention.files_to_delete import FileCounts, FilesToDelete
from paimon_sql.storage.retention.plan import ExpirationPlan, plan_expiry
from paimon_sql.storage.retention.policy import Retention, changelog_retention_of, choose_range, outlives_snapshots
from paimon_sql.storage.retention.retained_references import retry_on_concurrent_change
from paimon_sql.storage.table.changelogs import ChangelogManager
from paimon_sql.storage.table.table import Table

ROUND = 50


@dataclass
class ExpirationResult:
    """What an expiry did, or would do.

    Attributes:
        snapshots: the snapshots that went, in order of id.
        files: how many files went with them.
        changelogs: how many changelogs that outlived their snapshots went.
        earliest: the first snapshot that is left, None without any.
        latest: the last one.
        reason: why it is left.
    """

    snapshots: list[int] = field(default_factory=list)
    files: FileCounts = field(default_factory=FileCounts)
    changelogs: int = 0
    earliest: int | None = None
    latest: int | None = None
    reason: str = ""


def expire_snapshots(
    table: Table,
    retention: Retention,
    *,
    dry_run: bool = False,
    leftovers: bool = True,
    now_millis: int | None = None,
) -> ExpirationResult:
    """Let the snapshots go that need not stay, and the files that nobody else needs.

    Args:
        table: the table or branch.
        retention: what stays.
        dry_run: only say what would be done.
        leftovers: whether to look for what an interrupted run left even when no snapshot is to go.
        now_millis: the time, in milliseconds since the epoch; the present one by default.

    Raises:
        PaimonError: a tag, branch or consumer cannot be read; nothing was deleted that might be needed.
    """
    chosen = choose_range(table, retention)
    result = ExpirationResult(earliest=chosen.earliest, latest=chosen.latest, reason=chosen.reason)
    if chosen.earliest is None:
        return result
    now = present_millis() if now_millis is None else now_millis
    changelogs = changelog_retention_of(table.options, now) if outlives_snapshots(table.options) else None
    coming: list[Snapshot] = []
    planned = FilesToDelete()
    ids = table.snapshots.directory.versions() if leftovers or chosen.end > chosen.earliest else []
    going = [i for i in ids if i < chosen.end]
    retained = [i for i in ids if i >= chosen.end]
    for start in range(0, len(going) if retained else 0, ROUND):
        part = going[start : start + ROUND]
        # Leftovers stand below the hint: those of a later round keep nothing for this one.
        rest = [*(i for i in going[start + ROUND :] if i >= chosen.earliest), *retained]
        plan = _round(table, part, rest, keeps_changelog=changelogs is not None, dry_run=dry_run)
        if plan is None:
            result.reason = "another job lets snapshots expire at the same time"
            break
        result.snapshots += [s.id for s in plan.snapshots]
        result.earliest = plan.end
        if dry_run:  # rounds may name the same file, which the first of them would have removed
            coming += plan.snapshots
            planned.take(plan.files)
        else:
            result.files.add(plan.files)
    if changelogs is not None:
        done = expire_changelogs(table, changelogs, dry_run=dry_run, coming=coming)
        result.changelogs = len(done.changelogs)
        if dry_run:
            planned.take(done.files)
        else:
            result.files.add(done.files)
    result.files.add(planned)
    if result.snapshots and not dry_run:
        publish_quietly(table)
    return result


def _round(
    table: Table, ids: Sequence[int], rest: Sequence[int], *, keeps_changelog: bool, dry_run: bool
) -> ExpirationPlan | None:
    """One round: what was done, None if a rival has gone farther meanwhile."""

    def chosen() -> ExpirationPlan | None:
        try:
            plan = plan_expiry(table, ids, rest, keeps_changelog=keeps_changelog)
        except NoSuchSnapshotError:
            return None
        if dry_run:
            return plan
        return plan if _claimed(table, plan.end) else None

    plan = retry_on_concurrent_change(table, chosen, lambda plan: plan is not None and not dry_run)
    if plan is not None and not dry_run:
        _carry_out(table, plan)
    return plan


def _claimed(table: Table, end: int) -> bool:
    """Whether this expiry may remove what comes before a snapshot: the hints say so, and no rival has gone farther."""
    directory = table.snapshots.directory
    # Readers of other engines believe the hint of the latest as long as the next snapshot is not there.
    directory.advance_hint(LATEST, table.snapshots.latest_id() or end)
    before = directory.hint(EARLIEST)
    if directory.advance_hint(EARLIEST, end) != end:
        return False
    # After a loss of power no snapshot whose files were deleted may be taken for a retained one, or the newest.
    directory.sync_hint(LATEST)
    directory.sync_hint(EARLIEST)
    if directory.exists(end):
        return True
    directory.withdraw_hint(EARLIEST, end, before)  # a rollback has dropped it
    return False


def _carry_out(table: Table, plan: ExpirationPlan) -> None:
    if plan.keeps_changelog:
        changelogs = ChangelogManager(table.file_io, table.paths.branch_root)
        for snapshot in plan.snapshots:
            if snapshot.id not in plan.late:
                changelogs.keep(snapshot)
    plan.files.delete(table)
    directory = table.snapshots.directory
    # In the order of their ids: a writer that finds its snapshot alone below a gap knows that it came too late.
    with suppress(CommitConflictError):  # a rival is about to remove one
        for snapshot in plan.snapshots:
            table.snapshots.remove(snapshot, unless=lambda: _went_back(table, plan))
    # One that came back would be made a changelog again whose files may have expired by then.
    directory.file_io.sync_directory(directory.directory)
    table.snapshots.forget()


def _went_back(table: Table, plan: ExpirationPlan) -> bool:
    """Whether a rollback has made one of the snapshots the newest: a tag keeps its files, and its own must stay.

    The hint of the latest falls in rollbacks alone, so that a slower expiry is not taken for one.
    """
    latest = table.snapshots.directory.hint(LATEST)
    return (latest is not None and latest < plan.end) or not table.snapshots.exists(plan.end)

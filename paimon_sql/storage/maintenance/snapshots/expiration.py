"""Snapshot expiration, in rounds of a few snapshots: memory is bounded, and a crash loses little.

A round first moves the EARLIEST hint past the expired snapshots: from then on they are not read, tagged or rolled back
to. It then checks that no tag or branch was created since its plan was made: creators read the hint after writing a tag
or branch, so that one of the two sees the other. Files are deleted next, the snapshot files last: what a crash leaves
is below the hint, where the next run finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.text.instants import current_millis
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
    """The result of a snapshot expiration, in a dry run the plan.

    Attributes:
        snapshots: the expired snapshots, ordered by id.
        files: the counts of deleted files.
        changelogs: the number of expired changelogs that outlived their snapshots.
        earliest: the first retained snapshot, None without any.
        latest: the last snapshot.
        reason: what retains the first one.
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
    """Expire snapshots, and delete the files that nothing else needs.

    Args:
        table: the table or branch.
        retention: the retention.
        dry_run: only return the plan.
        leftovers: whether to look for leftovers of an interrupted run even if no snapshot expires.
        now_millis: the time, in milliseconds since the epoch; the current time by default.

    Raises:
        PaimonError: a tag, branch or consumer cannot be read; nothing was deleted that might be needed.
    """
    bounds = choose_range(table, retention)
    result = ExpirationResult(earliest=bounds.earliest, latest=bounds.latest, reason=bounds.reason)
    if bounds.earliest is None:
        return result
    now = current_millis() if now_millis is None else now_millis
    changelogs = changelog_retention_of(table.options, now) if outlives_snapshots(table.options) else None
    expired: list[Snapshot] = []
    planned = FilesToDelete()
    ids = table.snapshots.directory.versions() if leftovers or bounds.end > bounds.earliest else []
    to_expire = [i for i in ids if i < bounds.end]
    retained = [i for i in ids if i >= bounds.end]
    for start in range(0, len(to_expire) if retained else 0, ROUND):
        part = to_expire[start : start + ROUND]
        # Leftovers are below the hint: those of a later round retain nothing for this one.
        rest = [*(i for i in to_expire[start + ROUND :] if i >= bounds.earliest), *retained]
        plan = _round(table, part, rest, keeps_changelog=changelogs is not None, dry_run=dry_run)
        if plan is None:
            result.reason = "another job lets snapshots expire at the same time"
            break
        result.snapshots += [s.id for s in plan.snapshots]
        result.earliest = plan.end
        if dry_run:  # rounds may plan the same file, which the first of them would have deleted
            expired += plan.snapshots
            planned.add(plan.files)
        else:
            result.files.add(plan.files)
    if changelogs is not None:
        changelog_result = expire_changelogs(table, changelogs, dry_run=dry_run, coming=expired)
        result.changelogs = len(changelog_result.changelogs)
        if dry_run:
            planned.add(changelog_result.files)
        else:
            result.files.add(changelog_result.files)
    result.files.add(planned)
    if result.snapshots and not dry_run:
        publish_quietly(table)
    return result


def _round(
    table: Table, ids: Sequence[int], rest: Sequence[int], *, keeps_changelog: bool, dry_run: bool
) -> ExpirationPlan | None:
    """Run one round; return its plan, None if a concurrent expiration has advanced further."""

    def claim() -> ExpirationPlan | None:
        try:
            plan = plan_expiry(table, ids, rest, keeps_changelog=keeps_changelog)
        except NoSuchSnapshotError:
            return None
        if dry_run:
            return plan
        return plan if _claimed(table, plan.end) else None

    plan = retry_on_concurrent_change(table, claim, lambda plan: plan is not None and not dry_run)
    if plan is not None and not dry_run:
        _carry_out(table, plan)
    return plan


def _claimed(table: Table, end: int) -> bool:
    """Claim the snapshots before ``end`` for this expiration, by the hints; False if another has advanced further."""
    directory = table.snapshots.directory
    # Other engines trust the LATEST hint as long as the next snapshot does not exist.
    directory.advance_hint(LATEST, table.snapshots.latest_id() or end)
    previous = directory.hint(EARLIEST)
    if directory.advance_hint(EARLIEST, end) != end:
        return False
    # After a power loss, no snapshot whose files were deleted may be taken for a retained one, or for the newest.
    directory.sync_hint(LATEST)
    directory.sync_hint(EARLIEST)
    if directory.exists(end):
        return True
    directory.withdraw_hint(EARLIEST, end, previous)  # a rollback has dropped it
    return False


def _carry_out(table: Table, plan: ExpirationPlan) -> None:
    if plan.keeps_changelog:
        changelogs = ChangelogManager(table.file_io, table.paths.branch_root)
        for snapshot in plan.snapshots:
            if snapshot.id not in plan.late:
                changelogs.keep(snapshot)
    plan.files.delete(table)
    directory = table.snapshots.directory
    # In id order: a writer that finds its snapshot alone below a gap knows that it was too late.
    with suppress(CommitConflictError):  # a concurrent expiration is about to delete one
        for snapshot in plan.snapshots:
            table.snapshots.remove(snapshot, unless=lambda: _went_back(table, plan))
    # One that reappears after a crash would become a changelog again whose files may have expired by then.
    directory.file_io.sync_directory(directory.directory)
    table.snapshots.forget()


def _went_back(table: Table, plan: ExpirationPlan) -> bool:
    """Whether a rollback has made one of the snapshots the newest: a tag retains its files, and it must stay.

    The LATEST hint only decreases in rollbacks, so that a slower expiration is not mistaken for one.
    """
    latest = table.snapshots.directory.hint(LATEST)
    return (latest is not None and latest < plan.end) or not table.snapshots.exists(plan.end)

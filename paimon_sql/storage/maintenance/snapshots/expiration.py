"""Expiration of snapshots, in rounds of a few, and of changelogs that outlive their snapshots.

A round first moves the EARLIEST hint past the expired snapshots: from then on they are not read, tagged or rolled back
to. It then checks that no tag or branch was created since its plan was made: creators read the hint after writing a tag
or branch, so that one of the two sees the other. Files are deleted next, the snapshot files last: what a crash leaves
is below the hint, where the next run finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count

import pyarrow as pa

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention import files_to_delete, policy
from paimon_sql.storage.retention import retained_references as references
from paimon_sql.storage.retention.files_to_delete import ExpirationPlan, FileCounts, FilesToDelete, sizes_of_lists
from paimon_sql.storage.retention.policy import Retention, before_consumers
from paimon_sql.storage.retention.retained_references import retry_on_concurrent_change
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
    table: Table, retention: Retention, *, dry_run: bool = False, leftovers: bool = True, now_millis: int | None = None
) -> ExpirationResult:
    """Expire snapshots, and delete the files that nothing else needs (Paimon: `ExpireSnapshotsImpl`).

    Args:
        table: the table or branch.
        retention: the retention.
        dry_run: only return the plan.
        leftovers: whether to look for leftovers of an interrupted run even if no snapshot expires.
        now_millis: the time, in milliseconds since the epoch; the current time by default.

    Raises:
        PaimonError: a tag, branch or consumer cannot be read; nothing was deleted that might be needed.
    """
    seen = SnapshotView(table.snapshots)
    bounds = policy.choose_range(table, retention, seen)
    result = ExpirationResult(earliest=bounds.earliest, latest=bounds.latest, reason=bounds.reason)
    if bounds.earliest is None:
        return result
    now = current_millis() if now_millis is None else now_millis
    changelogs = policy.changelog_retention_of(table.options, now) if policy.outlives_snapshots(table.options) else None
    expired: list[Snapshot] = []
    planned = FilesToDelete()
    ids = table.snapshots.directory.versions() if leftovers or bounds.end > bounds.earliest else []
    to_expire = [i for i in ids if i < bounds.end]
    retained = [i for i in ids if i >= bounds.end]
    for start in range(0, len(to_expire) if retained else 0, ROUND):
        part = to_expire[start : start + ROUND]
        # Leftovers are below the hint: those of a later round retain nothing for this one.
        rest = [*(i for i in to_expire[start + ROUND :] if i >= bounds.earliest), *retained]
        plan = _round(table, seen, part, rest, keeps_changelog=changelogs is not None, dry_run=dry_run)
        seen = SnapshotView(table.snapshots)
        if plan is None:
            result.reason = "another job is expiring snapshots concurrently"
            break
        result.snapshots += [s.id for s in plan.snapshots]
        result.earliest = plan.end.id
        if dry_run:  # rounds may plan the same file, which the first of them would have deleted
            expired += plan.snapshots
            planned.add(plan.files)
        else:
            result.files += plan.files.counts
    if changelogs is not None:
        changelog_result = expire_changelogs(table, changelogs, dry_run=dry_run, coming=expired)
        result.changelogs = len(changelog_result.changelogs)
        planned.add(changelog_result.files)
    result.files += planned.counts
    if result.snapshots and not dry_run:
        publish_quietly(table)
    return result


def _round(
    table: Table, seen: SnapshotView, ids: Sequence[int], rest: Sequence[int], *, keeps_changelog: bool, dry_run: bool
) -> ExpirationPlan | None:
    """Run one round; return its plan, None if a concurrent expiration has advanced further."""
    views = chain([seen], (SnapshotView(table.snapshots) for _ in count()))  # each further attempt reads anew

    def plan_and_claim() -> ExpirationPlan | None:
        try:
            plan = files_to_delete.plan_expiry(table, next(views), ids, rest, keeps_changelog=keeps_changelog)
        except NoSuchSnapshotError:
            return None
        if dry_run:
            return plan
        return plan if _advance_hints(table, plan.end) else None

    plan = retry_on_concurrent_change(table, plan_and_claim, lambda plan: plan is not None and not dry_run)
    if plan is not None and not dry_run:
        _carry_out(table, plan)
    return plan


def _advance_hints(table: Table, end: Snapshot) -> bool:
    """Advance EARLIEST to ``end``: the snapshots before it are this expiration's; False if another is further."""
    directory = table.snapshots.directory
    # Other engines trust the LATEST hint as long as the next snapshot does not exist.
    directory.advance_hint(LATEST, table.snapshots.latest_id() or end.id)
    previous = directory.hint(EARLIEST)
    if directory.advance_hint(EARLIEST, end.id) != end.id:
        return False
    # After a power loss, no snapshot whose files were deleted may be taken for a retained one, or for the newest.
    directory.sync_hint(LATEST)
    directory.sync_hint(EARLIEST)
    if _stands(table, end):
        return True
    directory.withdraw_hint(EARLIEST, end.id, previous)  # a rollback has dropped it
    return False


def _stands(table: Table, end: Snapshot) -> bool:
    """Whether a snapshot still exists, and no rollback is about to drop it."""
    found, rewind = table.snapshots.find(end.id), table.snapshots.rewinds.read()
    return found is not None and is_same_commit(found, end) and (rewind is None or not rewind.is_late(end))


def _carry_out(table: Table, plan: ExpirationPlan) -> None:
    if plan.keeps_changelog:
        changelogs = table.changelogs
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


def _went_back(table: Table, plan: ExpirationPlan) -> bool:
    """Whether a rollback has made one of the snapshots the newest: a tag retains its files, and it must stay.

    The LATEST hint only decreases in rollbacks, so that a slower expiration is not mistaken for one.
    """
    latest = table.snapshots.directory.hint(LATEST)
    return (latest is not None and latest < plan.end.id) or not _stands(table, plan.end)


@dataclass
class ChangelogExpiration:
    """The result of a changelog expiration, in a dry run the plan.

    Attributes:
        changelogs: the ids of the expired changelogs, ascending.
        files: the files deleted with them.
        earliest: the first retained one; None without any.
        latest: the last one.
        reason: what retains it.
    """

    changelogs: list[int] = field(default_factory=list)
    files: FilesToDelete = field(default_factory=FilesToDelete)
    earliest: int | None = None
    latest: int | None = None
    reason: str = ""


def expire_changelogs(
    table: Table,
    retention: Retention,
    *,
    everything: bool = False,
    dry_run: bool = False,
    coming: Sequence[Changelog] = (),
) -> ChangelogExpiration:
    """Expire changelogs, and delete the files that nothing else needs (Paimon: `ExpireChangelogImpl`).

    The last changelog is retained unless all should expire, as it connects the changelogs to the snapshots.

    Args:
        table: the table or branch.
        retention: the retention of snapshots and changelogs, which are counted together.
        everything: expire all but those that a consumer needs.
        dry_run: only return the plan.
        coming: in a dry run, the oldest snapshots, which would have become changelogs.

    Raises:
        PaimonError: a retained reference cannot be read; nothing was deleted.
    """
    manager = table.changelogs
    from_snapshots = {c.id: c for c in coming}
    ids, latest = sorted({*manager.ids(), *from_snapshots}), table.snapshots.latest_id()
    if not ids or latest is None:
        return ChangelogExpiration(reason="no changelog has outlived its snapshot")

    def find(changelog_id: int) -> Changelog | None:
        return from_snapshots.get(changelog_id) or manager.find(changelog_id)

    if everything:
        end, reason = before_consumers(table, ids[-1] + 1, "")
    else:
        end, reason = _end(table, find, ids, latest, retention)
    rest = [i for i in ids if i >= end]
    result = ChangelogExpiration([], FilesToDelete(), rest[0] if rest else None, rest[-1] if rest else None, reason)
    expired = [c for c in map(find, (i for i in ids if i < end)) if c is not None]
    if not expired:
        return result
    retained = [c for c in map(find, rest) if c is not None]

    def unused() -> FilesToDelete:
        if not coming:
            return _files(table, expired, retained, table.snapshots.earliest_id() or 0)
        last = max(from_snapshots)
        later = (i for i in table.snapshots.directory.versions() if i > last)
        return _files(table, expired, retained, next(later, 0))

    files = retry_on_concurrent_change(table, unused)
    result.changelogs, result.files = [c.id for c in expired], files
    if dry_run:
        return result
    if rest:
        manager.directory.advance_hint(EARLIEST, end)
    else:
        manager.directory.delete_hint(EARLIEST)
        manager.directory.delete_hint(LATEST)
    files.delete(table)
    files_to_delete.delete_all(table, [manager.directory.path(c.id) for c in expired])
    table.file_io.sync_directory(manager.directory.directory)  # after a crash none reappears without its files
    return result


def _end(
    table: Table, find: Callable[[int], Changelog | None], ids: Sequence[int], latest: int, retention: Retention
) -> tuple[int, str]:
    """Return the first retained changelog, and what retains it."""
    end, reason = ids[-1], "the last changelog connects those before it to the snapshots"
    if latest - retention.min + 1 < end:
        end, reason = latest - retention.min + 1, f"the last {retention.min} snapshots and changelogs are retained"
    if ids[0] + retention.limit < end:
        end, reason = ids[0] + retention.limit, f"one run expires at most {retention.limit}"
    end, reason = before_consumers(table, end, reason)
    for changelog_id in ids:
        if not latest - retention.max < changelog_id <= end:
            continue
        changelog = find(changelog_id)
        if changelog is not None and changelog.time_millis >= retention.older_than_millis:
            return (end, reason) if changelog_id == end else (changelog_id, "it is too young")
    return end, reason


def _files(
    table: Table, expired: Sequence[Changelog], retained: Sequence[Changelog], earliest_id: int
) -> FilesToDelete:
    files = FilesToDelete()
    lists = sizes_of_lists(expired, changelog=True)
    others = [c for c in expired if not c.changelog_manifest_list]
    changelog = references.listed_files(table, lists, [FileKind.ADD])
    # The expiration of the snapshot left the files that it added and deleted to this one, for older changelogs.
    data = references.listed_files(table, [c.delta_manifest_list for c in others])
    names = pa.concat_arrays([references.named_files(changelog), references.named_files(data)])
    earliest = table.snapshots.get(earliest_id)
    holders, foreign = references.other_references(table, expired[0].id, earliest.id)
    holders = [references.reference_of_snapshot(table, earliest), *holders]
    uses = references.uses_of(table, holders, [*retained, *foreign], names)
    if not uses.metadata.isdisjoint(lists):
        # A branch was created from the same snapshot and still has it, with this changelog.
        changelog = references.listed_files(table, lists.keys() - uses.metadata, [FileKind.ADD])
    files.add_files(table, uses.without(changelog), changelog=True)
    files.add_unused(table, data, uses)
    files.add_manifests(table, lists | sizes_of_lists(others), uses)
    return files

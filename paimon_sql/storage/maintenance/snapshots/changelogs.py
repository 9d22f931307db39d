"""Changelogs that outlive their snapshots, and their own end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Changelog
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.retention.files_to_delete import FilesToDelete, delete_all
from paimon_sql.storage.retention.plan import add_manifests, add_unused, distinct_files, who_else_stays, without
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.retention.retained_references import reference_of_snapshot, retry_on_concurrent_change, uses_of
from paimon_sql.storage.retention.used_files import lists_that_are_left, manifests_that_are_left, named_files, with_kind
from paimon_sql.storage.table.changelogs import ChangelogManager
from paimon_sql.storage.table.table import Table


@dataclass
class ChangelogExpiration:
    """What an expiry of changelogs did, or would do.

    Attributes:
        changelogs: the ids of those that went, ascending.
        files: the files that went with them.
        earliest: the first that is left; None without any.
        latest: the last one.
        reason: why it is left.
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
    """Let the changelogs go that need not stay, and the files that nobody else needs.

    The last changelog stays unless all are to go, as it joins the changelogs to the snapshots.

    Args:
        table: the table or branch.
        retention: what stays, snapshots and changelogs counted together.
        everything: let all go but those that a consumer wants.
        dry_run: only say what would be done.
        coming: in a dry run, the oldest snapshots, which would be changelogs by then.

    Raises:
        PaimonError: somebody who stays cannot be read; nothing was deleted.
    """
    manager = ChangelogManager(table.file_io, table.paths.branch_root)
    fresh = {c.id: c for c in coming}
    ids, latest = sorted({*manager.ids(), *fresh}), table.snapshots.latest_id()
    if not ids or latest is None:
        return ChangelogExpiration(reason="no changelog has outlived its snapshot")

    def find(changelog_id: int) -> Changelog | None:
        return fresh.get(changelog_id) or manager.find(changelog_id)

    end, reason = _all(table, ids) if everything else _end(table, find, ids, latest, retention)
    kept = [i for i in ids if i >= end]
    result = ChangelogExpiration([], FilesToDelete(), kept[0] if kept else None, kept[-1] if kept else None, reason)
    going = [c for c in map(find, (i for i in ids if i < end)) if c is not None]
    if not going:
        return result
    staying = [c for c in map(find, kept) if c is not None]

    def files_to_delete() -> FilesToDelete:
        earliest = _first_behind(table, max(fresh)) if fresh else table.snapshots.earliest_id()
        return _files(table, going, staying, earliest or 0)

    files = retry_on_concurrent_change(table, files_to_delete)
    result.changelogs, result.files = [c.id for c in going], files
    if dry_run:
        return result
    if kept:
        manager.directory.advance_hint(EARLIEST, end)
    else:
        manager.directory.delete_hint(EARLIEST)
        manager.directory.delete_hint(LATEST)
    files.delete(table)
    delete_all(table, [manager.directory.path(c.id) for c in going])
    table.file_io.sync_directory(manager.directory.directory)  # none comes back without its files
    return result


def _first_behind(table: Table, snapshot_id: int) -> int | None:
    """The first snapshot behind another."""
    return min((i for i in table.snapshots.directory.versions() if i > snapshot_id), default=None)


def _all(table: Table, ids: Sequence[int]) -> tuple[int, str]:
    wanted = table.consumers.min_next_snapshot()
    if wanted is not None and wanted <= ids[-1]:
        return wanted, f"a consumer still wants snapshot {wanted}"
    return ids[-1] + 1, ""


def _end(
    table: Table, find: Callable[[int], Changelog | None], ids: Sequence[int], latest: int, retention: Retention
) -> tuple[int, str]:
    """The first changelog that stays, and why."""
    end, reason = ids[-1], "the last changelog joins those before it to the snapshots"
    if latest - retention.least + 1 < end:
        end, reason = latest - retention.least + 1, f"the last {retention.least} snapshots and changelogs stay"
    if ids[0] + retention.limit < end:
        end, reason = ids[0] + retention.limit, f"one run takes no more than {retention.limit}"
    wanted = table.consumers.min_next_snapshot()
    if wanted is not None and wanted < end:
        end, reason = wanted, f"a consumer still wants snapshot {wanted}"
    for changelog_id in ids:
        if not latest - retention.most < changelog_id <= end:
            continue
        changelog = find(changelog_id)
        if changelog is not None and changelog.time_millis >= retention.older_than_millis:
            return (end, reason) if changelog_id == end else (changelog_id, "it is too young")
    return end, reason


def _files(table: Table, going: Sequence[Changelog], staying: Sequence[Changelog], earliest_id: int) -> FilesToDelete:
    files = FilesToDelete()
    own = [c for c in going if c.changelog_manifest_list]
    others = [c for c in going if not c.changelog_manifest_list]
    changelog = _entries(table, [c.changelog_manifest_list for c in own], (FileKind.ADD,))
    # Whoever expired the snapshot left what it added and what it took away, for older changelogs, to this moment.
    data = _entries(table, [c.delta_manifest_list for c in others], (FileKind.ADD, FileKind.DELETE))
    names = pa.concat_arrays([named_files(changelog), named_files(data)])
    earliest = table.snapshots.get(earliest_id)
    protectors, foreign = who_else_stays(table, going[0].id, earliest.id)
    protectors = [reference_of_snapshot(table, earliest), *protectors]
    uses = uses_of(table, protectors, [*staying, *foreign], names)
    if any(c.changelog_manifest_list in uses.metadata for c in own):
        # A branch began with the same snapshot and still has it: its changelog is this one.
        left = [c.changelog_manifest_list for c in own if c.changelog_manifest_list not in uses.metadata]
        changelog = _entries(table, left, (FileKind.ADD,))
    files.add_changelog(table, without(changelog, uses))
    add_unused(table, files, data, uses)
    lists = {c.changelog_manifest_list: c.changelog_manifest_list_size or 0 for c in own if c.changelog_manifest_list}
    for c in others:
        lists[c.base_manifest_list] = c.base_manifest_list_size or 0
        lists[c.delta_manifest_list] = c.delta_manifest_list_size or 0
    add_manifests(table, files, lists, uses)
    return files


def _entries(table: Table, lists: Sequence[str | None], kinds: Sequence[FileKind]) -> pa.Table:
    metas = [m for found in lists_that_are_left(table, lists).values() for m in found]
    entries = manifests_that_are_left(table, metas)
    return distinct_files([with_kind(e, kind) for e in entries for kind in kinds])

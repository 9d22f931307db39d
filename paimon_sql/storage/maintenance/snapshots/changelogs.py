"""Expiration of changelogs that outlive their snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Changelog
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.retention.files_to_delete import FilesToDelete, delete_all
from paimon_sql.storage.retention.plan import add_manifests, add_unused, distinct_files, other_references, without
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.retention.retained_references import reference_of_snapshot, retry_on_concurrent_change, uses_of
from paimon_sql.storage.retention.used_files import lists_that_are_left, manifests_that_are_left, named_files, with_kind
from paimon_sql.storage.table.changelogs import ChangelogManager
from paimon_sql.storage.table.table import Table


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
    """Expire changelogs, and delete the files that nothing else needs.

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
    manager = ChangelogManager(table.file_io, table.paths.branch_root)
    from_snapshots = {c.id: c for c in coming}
    ids, latest = sorted({*manager.ids(), *from_snapshots}), table.snapshots.latest_id()
    if not ids or latest is None:
        return ChangelogExpiration(reason="no changelog has outlived its snapshot")

    def find(changelog_id: int) -> Changelog | None:
        return from_snapshots.get(changelog_id) or manager.find(changelog_id)

    end, reason = _all(table, ids) if everything else _end(table, find, ids, latest, retention)
    rest = [i for i in ids if i >= end]
    result = ChangelogExpiration([], FilesToDelete(), rest[0] if rest else None, rest[-1] if rest else None, reason)
    expired = [c for c in map(find, (i for i in ids if i < end)) if c is not None]
    if not expired:
        return result
    retained = [c for c in map(find, rest) if c is not None]

    def files_to_delete() -> FilesToDelete:
        earliest = _first_after(table, max(from_snapshots)) if from_snapshots else table.snapshots.earliest_id()
        return _files(table, expired, retained, earliest or 0)

    files = retry_on_concurrent_change(table, files_to_delete)
    result.changelogs, result.files = [c.id for c in expired], files
    if dry_run:
        return result
    if rest:
        manager.directory.advance_hint(EARLIEST, end)
    else:
        manager.directory.delete_hint(EARLIEST)
        manager.directory.delete_hint(LATEST)
    files.delete(table)
    delete_all(table, [manager.directory.path(c.id) for c in expired])
    table.file_io.sync_directory(manager.directory.directory)  # after a crash none reappears without its files
    return result


def _first_after(table: Table, snapshot_id: int) -> int | None:
    """Return the first snapshot id after another."""
    return min((i for i in table.snapshots.directory.versions() if i > snapshot_id), default=None)


def _all(table: Table, ids: Sequence[int]) -> tuple[int, str]:
    next_snapshot = table.consumers.min_next_snapshot()
    if next_snapshot is not None and next_snapshot <= ids[-1]:
        return next_snapshot, f"a consumer still wants snapshot {next_snapshot}"
    return ids[-1] + 1, ""


def _end(
    table: Table, find: Callable[[int], Changelog | None], ids: Sequence[int], latest: int, retention: Retention
) -> tuple[int, str]:
    """Return the first retained changelog, and what retains it."""
    end, reason = ids[-1], "the last changelog joins those before it to the snapshots"
    if latest - retention.min + 1 < end:
        end, reason = latest - retention.min + 1, f"the last {retention.min} snapshots and changelogs stay"
    if ids[0] + retention.limit < end:
        end, reason = ids[0] + retention.limit, f"one run takes no more than {retention.limit}"
    next_snapshot = table.consumers.min_next_snapshot()
    if next_snapshot is not None and next_snapshot < end:
        end, reason = next_snapshot, f"a consumer still wants snapshot {next_snapshot}"
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
    with_list = [c for c in expired if c.changelog_manifest_list]
    others = [c for c in expired if not c.changelog_manifest_list]
    changelog = _entries(table, [c.changelog_manifest_list for c in with_list], (FileKind.ADD,))
    # The expiration of the snapshot left the files that it added and deleted to this one, for older changelogs.
    data = _entries(table, [c.delta_manifest_list for c in others], (FileKind.ADD, FileKind.DELETE))
    names = pa.concat_arrays([named_files(changelog), named_files(data)])
    earliest = table.snapshots.get(earliest_id)
    references, foreign = other_references(table, expired[0].id, earliest.id)
    references = [reference_of_snapshot(table, earliest), *references]
    uses = uses_of(table, references, [*retained, *foreign], names)
    if any(c.changelog_manifest_list in uses.metadata for c in with_list):
        # A branch was created from the same snapshot and still has it, with this changelog.
        unused_lists = [c.changelog_manifest_list for c in with_list if c.changelog_manifest_list not in uses.metadata]
        changelog = _entries(table, unused_lists, (FileKind.ADD,))
    files.add_changelog(table, without(changelog, uses))
    add_unused(table, files, data, uses)
    lists = {
        c.changelog_manifest_list: c.changelog_manifest_list_size or 0 for c in with_list if c.changelog_manifest_list
    }
    for c in others:
        lists[c.base_manifest_list] = c.base_manifest_list_size or 0
        lists[c.delta_manifest_list] = c.delta_manifest_list_size or 0
    add_manifests(table, files, lists, uses)
    return files


def _entries(table: Table, lists: Sequence[str | None], kinds: Sequence[FileKind]) -> pa.Table:
    metas = [m for found in lists_that_are_left(table, lists).values() for m in found]
    entries = manifests_that_are_left(table, metas)
    return distinct_files([with_kind(e, kind) for e in entries for kind in kinds])

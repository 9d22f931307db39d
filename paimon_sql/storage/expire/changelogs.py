"""Changelogs that outlive their snapshots, and their own end."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.manifest import FileKind
from paimon_sql.format.snapshot import Changelog
from paimon_sql.storage.changelogs import ChangelogManager
from paimon_sql.storage.expire.doomed import DoomedFiles, delete_all
from paimon_sql.storage.expire.plan import add_manifests, distinct_files, who_else_stays, without
from paimon_sql.storage.expire.protectors import fingerprint, snapshot_protector, uses_of
from paimon_sql.storage.expire.retention import Retention
from paimon_sql.storage.expire.uses import lists_that_are_left, manifests_that_are_left, with_kind
from paimon_sql.storage.table import Table
from paimon_sql.storage.versioned import EARLIEST


def expire_changelogs(table: Table, retention: Retention) -> int:
    """Let the changelogs go that need not stay, and the files that nobody else needs: how many went.

    The last changelog always stays, as it joins the changelogs to the snapshots.

    Args:
        table: the table or branch.
        retention: what stays, snapshots and changelogs counted together.

    Raises:
        PaimonError: somebody who stays cannot be read; nothing was deleted.
    """
    manager = ChangelogManager(table.file_io, table.paths.branch_root)
    ids, latest = manager.ids(), table.snapshots.latest_id()
    if len(ids) < 2 or latest is None:
        return 0
    end = _end(table, manager, ids, latest, retention)
    going = [c for c in (manager.find(i) for i in ids if i < end) if c is not None]
    if not going:
        return 0
    seen = fingerprint(table)
    files = _files(table, going, [c for c in (manager.find(i) for i in ids if i >= end) if c is not None])
    if fingerprint(table) != seen:
        raise CommitConflictError(
            f"{table.name}: tags or branches were changed while changelogs were about to expire.",
            remedy="Run the expiry again.",
        )
    manager.directory.write_hint(EARLIEST, end)
    files.delete(table)
    delete_all(table, [manager.directory.path(c.id) for c in going])
    return len(going)


def _end(table: Table, manager: ChangelogManager, ids: Sequence[int], latest: int, retention: Retention) -> int:
    """The first changelog that stays."""
    end = min(latest - retention.least + 1, ids[0] + retention.limit, ids[-1])
    wanted = table.consumers.min_next_snapshot()
    end = end if wanted is None else min(end, wanted)
    for changelog_id in ids:
        if not latest - retention.most < changelog_id <= end:
            continue
        changelog = manager.find(changelog_id)
        if changelog is not None and changelog.time_millis >= retention.older_than_millis:
            return min(end, changelog_id)
    return end


def _files(table: Table, going: Sequence[Changelog], staying: Sequence[Changelog]) -> DoomedFiles:
    files = DoomedFiles()
    own = [c for c in going if c.changelog_manifest_list]
    others = [c for c in going if not c.changelog_manifest_list]
    changelog = _entries(table, [c.changelog_manifest_list for c in own], (FileKind.ADD,))
    # Whoever expired the snapshot left what it added and what it took away, for older changelogs, to this moment.
    data = _entries(table, [c.delta_manifest_list for c in others], (FileKind.ADD, FileKind.DELETE))
    names = pa.concat_tables([changelog.select(["file_name"]), data.select(["file_name"])])["file_name"]
    earliest = table.snapshots.get(table.snapshots.earliest_id() or 0)
    protectors, foreign = who_else_stays(table, going[0].id, earliest.id)
    protectors = [snapshot_protector(table, earliest), *protectors]
    uses = uses_of(table, protectors, [*staying, *foreign], names.combine_chunks())
    files.add_changelog(table, without(changelog, uses))
    files.add_data(table, without(data, uses))
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

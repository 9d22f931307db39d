"""A table emptied with its whole history: rows, snapshots, tags, branches, consumers and changelogs go.

First a snapshot without files is committed: from then on the table reads as empty. What leads to files is removed next,
the files themselves after that and the old snapshots last, where the next expiry finds what a crash left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.manifest import FileKind, entries
from paimon_sql.format.options.commit import MANIFEST_SORT_ENABLED
from paimon_sql.format.paths import MAIN_BRANCH
from paimon_sql.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Operation, Snapshot
from paimon_sql.storage.changelogs import ChangelogManager
from paimon_sql.storage.commit.manifest_compaction import ManifestCompactor
from paimon_sql.storage.commit.messages import Changes
from paimon_sql.storage.commit.snapshot_maker import SnapshotMaker
from paimon_sql.storage.expire.doomed import DoomedFiles, delete_all
from paimon_sql.storage.expire.plan import add_indexes, add_manifests, distinct_files
from paimon_sql.storage.expire.protectors import Uses, other_branches, snapshot_protector, uses_of
from paimon_sql.storage.expire.uses import lists_that_are_left, manifests_that_are_left
from paimon_sql.storage.index_files import index_entries
from paimon_sql.storage.scan.live_files import live_files, manifests_of
from paimon_sql.storage.table import Table
from paimon_sql.storage.tags import is_same_commit
from paimon_sql.storage.versioned import EARLIEST, LATEST


@dataclass
class Purge:
    """What a purge did, or would do.

    Attributes:
        snapshots: how many snapshots went, those of other branches among them.
        changelogs: how many changelogs that had outlived their snapshots went.
        tags: the names of the tags that went.
        branches: the names of the branches that went.
        consumers: the names of the consumers that went.
        files: the files that went.
        snapshot: the snapshot that is left, without files; None where there was none, or in a dry run.
    """

    snapshots: int = 0
    changelogs: int = 0
    tags: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    consumers: list[str] = field(default_factory=list)
    files: DoomedFiles = field(default_factory=DoomedFiles)
    snapshot: Snapshot | None = None


def purge(table: Table, *, dry_run: bool = False) -> Purge:
    """Empty a table and forget its history.

    Args:
        table: the table itself, not one of its branches.
        dry_run: only say what would be done.

    Raises:
        UnsupportedError: the table was opened by a branch.
        CommitConflictError: tags or branches were made meanwhile; the table is empty, but its old files are left.
    """
    if table.branch != MAIN_BRANCH:
        raise UnsupportedError(
            f"{table.name} cannot be purged by its branch '{table.branch}', which shares its files with others.",
            remedy="Purge the table itself, or CALL sys.delete_branch.",
        )
    latest = table.snapshots.latest()
    plan = _planned(table, latest)
    if dry_run:
        return plan
    if latest is not None:
        plan.snapshot = latest = _emptied(table, latest)
        table.snapshots.forget()
    files = _files(table, latest)
    _forget_holders(table, plan)
    if latest is not None:
        table.snapshots.directory.write_hint(EARLIEST, latest.id)
    if table.tags.names() or table.branches.names():
        raise CommitConflictError(
            f"{table.name}: tags or branches were made while it was purged; it is empty, but its old files are left.",
            remedy="Purge it again.",
        )
    files.delete(table)
    if latest is not None:
        old = [i for i in table.snapshots.directory.versions() if i < latest.id]
        delete_all(table, [table.snapshots.directory.path(i) for i in old])
    table.snapshots.forget()
    return plan


def _planned(table: Table, latest: Snapshot | None) -> Purge:
    branches = [table, *other_branches(table)]
    bare = latest if latest is not None and not _holds_anything(table, latest) else None
    return Purge(
        sum(len(b.snapshots.directory.versions()) for b in branches) - (bare is not None),
        sum(len(_changelogs(b).ids()) for b in branches),
        [name for b in branches for name in b.tags.names()],
        [b.branch for b in branches[1:]],
        [name for b in branches for name in b.consumers.names()],
        _files(table, bare, frozenset({latest.statistics} if latest and latest.statistics else ())),
    )


def _holds_anything(table: Table, snapshot: Snapshot) -> bool:
    return bool(manifests_of(table, snapshot)) or bool(index_entries(table, snapshot))


def _emptied(table: Table, latest: Snapshot) -> Snapshot:
    """The newest snapshot, which holds nothing, not even manifests that tell what was deleted."""
    maker = SnapshotMaker(table, operation=Operation.TRUNCATE)

    def everything(base: Snapshot | None) -> Changes:
        live = [replace(e, kind=FileKind.DELETE) for e in entries(live_files(table, base).entries)]
        return Changes(live, [], [e.as_delete() for e in index_entries(table, base)])

    if not everything(latest).is_empty():
        latest = maker.commit(CommitKind.OVERWRITE, everything, BATCH_COMMIT_IDENTIFIER)
        table.snapshots.forget()
    return ManifestCompactor(table.with_options({MANIFEST_SORT_ENABLED.key: "false"})).run() or latest


def _files(table: Table, kept: Snapshot | None, metadata: frozenset[str] = frozenset()) -> DoomedFiles:
    """The files that any branch leads to, except for those of the snapshot that stays.

    What cannot be read leads nowhere any more; the search for orphan files finds what it led to.
    """
    uses = Uses(frozenset(), metadata)
    if kept is not None:
        uses = uses_of(table, [snapshot_protector(table, kept)], [], None)
    files = DoomedFiles()
    snapshots = [
        s for b in [table, *other_branches(table)] for s in _all_of(b) if not (kept and is_same_commit(s, kept))
    ]
    changelogs = {s.changelog_manifest_list: s.changelog_manifest_list_size or 0 for s in snapshots}
    lists = {s.base_manifest_list: s.base_manifest_list_size or 0 for s in snapshots}
    lists.update((s.delta_manifest_list, s.delta_manifest_list_size or 0) for s in snapshots)
    for owner, add in ((lists, files.add_data), (changelogs, files.add_changelog)):
        metas = {m.file_name: m for found in lists_that_are_left(table, owner).values() for m in found}
        add(table, distinct_files(manifests_that_are_left(table, list(metas.values()))))
    add_manifests(table, files, {**lists, **{n: size for n, size in changelogs.items() if n}}, uses)
    for snapshot in snapshots:
        add_indexes(table, files, snapshot, uses)
    return files


def _all_of(branch: Table) -> Sequence[Snapshot]:
    return [*branch.snapshots.all(), *(t.snapshot for t in branch.tags.all()), *_changelogs(branch).all()]


def _forget_holders(table: Table, plan: Purge) -> None:
    """Remove whatever holds on to files."""
    for branch in other_branches(table):
        table.branches.remove(branch.branch)
    for name in table.tags.names():
        table.tags.remove(name)
    for name in table.consumers.names():
        table.consumers.remove(name)
    changelogs = _changelogs(table)
    for hint in (EARLIEST, LATEST):
        changelogs.directory.delete_hint(hint)
    delete_all(table, [changelogs.directory.path(i) for i in changelogs.ids()])


def _changelogs(branch: Table) -> ChangelogManager:
    return ChangelogManager(branch.file_io, branch.paths.branch_root)

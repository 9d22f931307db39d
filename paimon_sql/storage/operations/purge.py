"""Purge: removal of all rows and the whole history of a table: snapshots, tags, branches, consumers, changelogs.

First a snapshot without files is committed: from then on the table reads as empty. The references to files are removed
next, then the files, and the old snapshots last: after a crash the next expiration finds the files left by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Operation, Snapshot
from paimon_sql.format.options.operations.commit import MANIFEST_SORT_ENABLED
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import live_files, manifests_of
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.metadata.partial_changes import begun
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor
from paimon_sql.storage.retention import retained_references as references
from paimon_sql.storage.retention.files_to_delete import FilesToDelete, delete_all, sizes_of_lists
from paimon_sql.storage.retention.retained_references import Uses, other_branches
from paimon_sql.storage.retention.tags import is_guard
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table


@dataclass
class Purge:
    """The result of a purge, or its plan.

    Attributes:
        snapshots: the number of removed snapshots, those of other branches included.
        changelogs: the number of removed changelogs of expired snapshots.
        tags: the names of the removed tags.
        branches: the names of the removed branches.
        consumers: the names of the removed consumers.
        files: the deleted files.
        snapshot: the remaining snapshot, without files; None if the table had none, or in a dry run.
    """

    snapshots: int = 0
    changelogs: int = 0
    tags: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    consumers: list[str] = field(default_factory=list)
    files: FilesToDelete = field(default_factory=FilesToDelete)
    snapshot: Snapshot | None = None


def purge(table: Table, *, dry_run: bool = False) -> Purge:
    """Remove all rows and the whole history of a table.

    Args:
        table: the table itself, not one of its branches.
        dry_run: only plan.

    Raises:
        UnsupportedError: the table was opened by a branch.
        CommitConflictError: another statement has a guard tag; nothing was done.
        CommitUnknownError: it was interrupted, for example by new tags or branches; run it again.
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
    _refuse_guard_tags(table)
    if latest is not None:
        plan.snapshot = latest = _emptied(table, latest)
    with begun(f"{table.name}: the purge"):
        _purged(table, plan, latest)
    publish_quietly(table)
    return plan


def _purged(table: Table, plan: Purge, latest: Snapshot | None) -> None:
    """Remove everything but the snapshot that the purge has committed."""
    before = table.snapshots.directory.hint(EARLIEST)
    if latest is not None:
        # From here on no rollback, tag or branch can use the old snapshots: they read the hint after their guard tag.
        table.snapshots.directory.advance_hint(EARLIEST, latest.id)
    _refuse_guard_tags(table)
    files = _files(table, FIRST_SNAPSHOT_ID if latest is None else latest.id)
    _check_stands(table, latest, before)
    _forget_holders(table, plan)
    _check_stands(table, latest, before)
    if latest is not None:
        table.snapshots.directory.sync_hint(EARLIEST)
    if table.tags.names() or table.branches.names():
        raise CommitConflictError(
            f"{table.name}: tags or branches were created while it was purged; it is empty, but its old files are"
            " left.",
            remedy="Purge it again.",
        )
    files.delete(table)
    if latest is not None:
        for snapshot in [s for s in table.snapshots.all() if s.id < latest.id]:
            table.snapshots.remove(snapshot)
        table.file_io.sync_directory(table.snapshots.directory.directory)


def _refuse_guard_tags(table: Table) -> None:
    """Check that no other statement has a guard tag.

    Raises:
        CommitConflictError: one is running, or was killed and left its tag.
    """
    for name in table.tags.names():
        if is_guard(name):
            raise CommitConflictError(
                f"{table.name}: another statement uses a snapshot that the tag '{name}' keeps.",
                remedy="Wait for its end and purge the table again. If it was killed, delete the tag.",
            )


def _check_stands(table: Table, emptied: Snapshot | None, before: int | None) -> None:
    """Check that no rollback removed the purge's snapshot from the history; restore the EARLIEST hint if one did.

    Args:
        table: the table.
        emptied: the purge's snapshot; None in a table without any.
        before: the EARLIEST hint before the purge.

    Raises:
        CommitConflictError: the table was rolled back.
    """
    if emptied is None:
        return
    found = table.snapshots.find(emptied.id)
    if found is not None and is_same_commit(found, emptied):
        return
    table.snapshots.directory.withdraw_hint(EARLIEST, emptied.id, before)
    raise CommitConflictError(
        f"{table.name} was rolled back while it was purged; no file was deleted.",
        remedy="Check $snapshots, and purge the table again.",
    )


def _planned(table: Table, latest: Snapshot | None) -> Purge:
    branches = [table, *other_branches(table)]
    is_bare = latest is not None and not (manifests_of(table, latest) or index_entries(table, latest))
    statistics = frozenset([latest.statistics] if latest is not None and latest.statistics else [])
    return Purge(
        sum(len(b.snapshots.directory.versions()) for b in branches) - is_bare,
        sum(len(b.changelogs.ids()) for b in branches),
        [name for b in branches for name in b.tags.names()],
        [b.branch for b in branches[1:]],
        [name for b in branches for name in b.consumers.names()],
        _files(table, latest.id if latest is not None and is_bare else None, statistics),
    )


def _emptied(table: Table, latest: Snapshot) -> Snapshot:
    """Commit a snapshot without files, and without manifests that record deletions; return the newest snapshot."""

    def everything(base: Snapshot | None) -> Changes:
        live = [replace(e, kind=FileKind.DELETE) for e in entries(live_files(table, base).entries)]
        return Changes(live, [], [e.as_delete() for e in index_entries(table, base)])

    if not everything(latest).is_empty():
        with Transaction(table, Operation.TRUNCATE) as transaction:
            latest = transaction.commit(CommitKind.OVERWRITE, everything)
    return ManifestCompactor(table.with_options({MANIFEST_SORT_ENABLED.key: "false"})).run() or latest


def _files(table: Table, first: int | None, metadata: frozenset[str] = frozenset()) -> FilesToDelete:
    """The files that any branch refers to, without those of the table's remaining snapshots.

    Metadata that cannot be read is skipped; the removal of orphan files finds its files.

    Args:
        table: the table.
        first: the purge's snapshot; it remains, with those that others committed since.
        metadata: the names of files in ``statistics`` that stay.
    """
    # Listed before the table's snapshots: a tag or branch may refer to a new snapshot, which remains.
    kept = [*_kept_elsewhere(table)]
    kept += [s for b in other_branches(table) for s in [*_kept_elsewhere(b), *b.snapshots.all()]]
    own = list(table.snapshots.all())
    remaining = [s for s in own if first is not None and s.id >= first]
    holders = [references.reference_of_snapshot(table, s, with_changelog=True) for s in remaining]
    uses = references.uses_of(table, holders, [], None)
    uses = Uses(uses.data, uses.metadata | metadata)
    files = FilesToDelete()
    snapshots = [s for s in [*kept, *own] if not any(is_same_commit(s, other) for other in remaining)]
    lists, changelogs = sizes_of_lists(snapshots), sizes_of_lists(snapshots, changelog=True)
    for owner in (lists, changelogs):
        unused = uses.without(references.listed_files(table, owner))
        files.add_files(table, unused, changelog=owner is changelogs)
    files.add_manifests(table, lists | changelogs, uses)
    for snapshot in snapshots:
        files.add_indexes(table, snapshot, uses)
    return files


def _kept_elsewhere(branch: Table) -> Sequence[Snapshot]:
    return [*(t.snapshot for t in branch.tags.all()), *branch.changelogs.all()]


def _forget_holders(table: Table, plan: Purge) -> None:
    """Remove branches, tags, consumers and changelogs, which refer to files."""
    for branch in other_branches(table):
        table.branches.remove(branch.branch)
    for name in table.tags.names():
        if not is_guard(name):  # a statement that began meanwhile keeps its files
            table.tags.remove(name)
    for name in table.consumers.names():
        table.consumers.remove(name)
    changelogs = table.changelogs
    for hint in (EARLIEST, LATEST):
        changelogs.directory.delete_hint(hint)
    delete_all(table, [changelogs.directory.path(i) for i in changelogs.ids()])
    table.file_io.sync_directory(changelogs.directory.directory)

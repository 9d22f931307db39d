"""Creation, renaming and deletion of branches.

A branch starts empty, or with one snapshot and its tag. Data files are never copied: expirations check all branches
before they delete a file, so a branch may only be created from what is certainly retained once it is visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from paimon_sql import errors
from paimon_sql.format.layout.paths import MAIN_BRANCH, SCHEMA, SNAPSHOT, TAG
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.branches.selection import NAMING_OPTIONS, branch_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.file_io.paths import name_of
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.partial_changes import unknown_unless_final
from paimon_sql.storage.metadata.refs.branches import check_branch_name
from paimon_sql.storage.retention.tags import guard_tag, is_referenced
from paimon_sql.storage.staging.proposal import changed_table, is_same_table
from paimon_sql.storage.table.snapshot_history import without_lost_changelog
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import referenced_snapshot

_DAY_MILLIS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class NewBranch:
    """The result of `create_branch`.

    Attributes:
        name: the name of the branch.
        schema_id: the id of its newest schema.
        snapshot: its first snapshot; None for an empty branch.
        existed: whether it existed before, and nothing was done.
    """

    name: str
    schema_id: int
    snapshot: Snapshot | None = None
    existed: bool = False


@dataclass(frozen=True)
class BranchContent:
    """The numbers of snapshots and tags of a branch."""

    name: str
    snapshots: int
    tags: int


def create_branch(
    table: Table,
    name: str,
    *,
    tag: str | None = None,
    snapshot_id: int | None = None,
    ignore_if_exists: bool = False,
    dry_run: bool = False,
) -> NewBranch:
    """Create a branch of the table or of one of its branches.

    Args:
        table: the table or branch to start from.
        name: the name of the branch.
        tag: the tag to start with; the branch gets the tag too.
        snapshot_id: the snapshot to start with, possibly one that only a tag retains; without both the branch is empty.
        ignore_if_exists: do nothing if the branch exists.
        dry_run: only return the result.

    Raises:
        InvalidInputError: the name is invalid, or both a tag and a snapshot are given.
        AlreadyExistsError: the branch exists.
        NoSuchSnapshotError: the tag or snapshot does not exist, or expired meanwhile.
    """
    if ignore_if_exists and table.branches.exists(name):
        return NewBranch(name, branch_of(table, name).schema.id, existed=True)
    check_branch_name(name)
    if tag is not None and snapshot_id is not None:
        raise errors.InvalidInputError(
            "A branch is created from a tag or a snapshot, not from both.", remedy="Leave one out."
        )
    if table.branches.exists(name):
        raise errors.AlreadyExistsError(
            f"{table.name}: branch '{name}' already exists.",
            name=name,
            remedy="Choose another name, or delete the branch first.",
        )
    files: dict[str, bytes] = {}
    snapshot = None
    if tag is not None:
        snapshot = table.tags.get(tag).snapshot
        files[f"{TAG}/{name_of(table.tags.path(tag))}"] = table.file_io.read_bytes(table.tags.path(tag))
    elif snapshot_id is not None:
        snapshot = referenced_snapshot(table, snapshot_id)
    if snapshot is not None:
        files[f"{SNAPSHOT}/snapshot-{snapshot.id}"] = without_lost_changelog(table, snapshot).to_json().encode()
    schema = table.schemas.latest()
    if schema is None:
        raise changed_table(table)
    newest = schema.id if snapshot is None else _newest_used(table, snapshot)
    for i in sorted((i for i in table.schemas.ids() if i <= newest), reverse=True):
        files[f"{SCHEMA}/schema-{i}"] = table.schemas.directory.read(i)
    result = NewBranch(name, newest, snapshot)
    if table.version_management is not None and snapshot_id is not None:
        raise errors.UnsupportedError(
            f"{table.name}: its catalog's server creates branches from tags, not from snapshots.",
            remedy=f"Create a tag of snapshot {snapshot_id}, and the branch from the tag.",
        )
    if dry_run:
        return result
    if table.version_management is not None:
        table.version_management.create_branch(table.branch, name, tag)
        return result
    _remove_leftovers(table)
    if snapshot is None:
        _create(table, name, files)
        return result
    # Whatever happens to this call, a branch that becomes visible is readable.
    with guard_tag(table, snapshot, f"branch-of-{snapshot.id}") as guard:
        _create(table, name, files)
        if not is_referenced(table, snapshot, guard):
            table.branches.remove(name)
            raise errors.NoSuchSnapshotError(
                f"{table.name}: snapshot {snapshot.id} expired while branch '{name}' was created from it.",
                name=str(snapshot.id),
                remedy="Use a later one.",
            )
    return result


def _create(table: Table, name: str, files: Mapping[str, bytes]) -> None:
    with unknown_unless_final(f"{table.name}: branch '{name}'", table.file_io, table.branches.root(name)):
        table.branches.create(name, files)
    # If the table was renamed meanwhile, so was the branch with it.
    if not is_same_table(table) and table.branches.exists(name):
        table.branches.remove(name)
        remove_if_dropped(table.file_io, table.paths.root)
        raise changed_table(table)


def delete_branches(table: Table, names: Sequence[str], *, dry_run: bool = False) -> list[BranchContent]:
    """Delete branches, all or none; their data files are left to the removal of orphan files.

    Args:
        table: the table, on any branch.
        names: the branches.
        dry_run: only return the result.

    Returns:
        The numbers of snapshots and tags of each.

    Raises:
        InvalidInputError: one is ``main``, or an option of the table names it.
        NotFoundError: one does not exist.
    """
    branches = list(dict.fromkeys(names))
    for name in branches:
        if name == MAIN_BRANCH:
            raise errors.InvalidInputError(
                f"'{MAIN_BRANCH}' is the table itself and cannot be deleted.", remedy="Use DROP TABLE."
            )
        table.branches.require(name)
        _refuse_if_named(table, name, "deleted")
    contents = [content_of(table, name) for name in branches]
    if not dry_run:
        _remove_leftovers(table)
        for name in branches:
            table.branches.remove(name)
    return contents


def rename_branch(table: Table, name: str, target: str, *, dry_run: bool = False) -> BranchContent:
    """Rename a branch.

    Args:
        table: the table, on any branch.
        name: the branch.
        target: its new name.
        dry_run: only return the result.

    Raises:
        InvalidInputError: the branch is ``main``, an option of the table names it, or the new name is invalid.
        NotFoundError: the branch does not exist.
        AlreadyExistsError: there is a branch of the new name.
    """
    if name == MAIN_BRANCH:
        raise errors.InvalidInputError(f"'{MAIN_BRANCH}' is the table itself and cannot be renamed as a branch.")
    table.branches.require(name)
    check_branch_name(target)
    if table.branches.exists(target):
        raise errors.AlreadyExistsError(f"{table.name}: branch '{target}' already exists.", name=target)
    _refuse_if_named(table, name, "renamed")
    content = content_of(table, name)
    if not dry_run:
        table.branches.rename(name, target)
    return replace(content, name=target)


def content_of(table: Table, name: str) -> BranchContent:
    """Count the snapshots and tags of a branch, by file names only."""
    branch = replace(table, branch=name)
    return BranchContent(name, len(branch.snapshots.directory.versions()), len(branch.tags.names()))


def _newest_used(table: Table, snapshot: Snapshot) -> int:
    """Return the max schema id of a snapshot, its files, or a snapshot before it.

    A writer that opened the table before ALTER TABLE may commit after one that used the new schema, and then its
    snapshot has the older schema id.
    """
    if table.schemas.ids()[-1] <= snapshot.schema_id:
        return snapshot.schema_id
    before = (s.schema_id for s in table.snapshots.all() if s.id <= snapshot.id)
    used: int = pc.max(live_files(table, snapshot).entries["schema_id"]).as_py() or 0
    return max(snapshot.schema_id, used, *before)


def _refuse_if_named(table: Table, name: str, verb: str) -> None:
    """Raise if an option of main or of the current branch names the branch, as reads would then miss its rows."""
    for branch in dict.fromkeys((MAIN_BRANCH, table.branch)):
        schema = replace(table, branch=branch).schemas.latest()
        for option in NAMING_OPTIONS:
            if schema is not None and schema.options.get(option.key) == name:
                where = table.name if branch == table.branch else "main"
                raise errors.InvalidInputError(
                    f"Branch '{name}' cannot be {verb}: the option '{option.key}' of {where} names it.",
                    remedy="Unset the option first.",
                )


def _remove_leftovers(table: Table) -> None:
    table.branches.sweep(current_millis() - _DAY_MILLIS)

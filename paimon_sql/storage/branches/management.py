"""Branches made, renamed and deleted: the rules.

A branch begins empty, or with one snapshot and the tag that named it. Data files are never copied: expiry asks all
branches before it deletes one, so a branch is only to be made of what is surely still kept when it is visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from paimon_sql.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchSnapshotError,
    UnsupportedError,
)
from paimon_sql.format.layout.paths import MAIN_BRANCH, SCHEMA, SNAPSHOT, TAG
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import (
    SCAN_FALLBACK_BRANCH,
    SCAN_FALLBACK_DELTA_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
    SCAN_PRIMARY_BRANCH,
)
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.file_io.paths import name_of
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.partial_changes import asked_for
from paimon_sql.storage.metadata.refs.branches import BranchManager, check_branch_name
from paimon_sql.storage.retention.guard_tags import held, is_kept
from paimon_sql.storage.staging.table_identity import changed_table, is_same_table
from paimon_sql.storage.table.changelogs import without_lost_changelog
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import kept_snapshot

NAMING_OPTIONS = (
    SCAN_FALLBACK_BRANCH,
    SCAN_PRIMARY_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
    SCAN_FALLBACK_DELTA_BRANCH,
)
"""The options of a table that name one of its branches."""

_DAY_MILLIS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class NewBranch:
    """A branch that was made, or would be.

    Attributes:
        name: its name.
        schema_id: its newest schema.
        snapshot: the snapshot that it begins with; None for an empty one.
        existed: whether it was there before and nothing was done.
    """

    name: str
    schema_id: int
    snapshot: Snapshot | None = None
    existed: bool = False


@dataclass(frozen=True)
class BranchContent:
    """How much a branch holds of its own: snapshots and tags."""

    name: str
    snapshots: int
    tags: int


def branch_of(table: Table, name: str) -> Table:
    """Another branch of the table, at its newest schema under its own options.

    Raises:
        NotFoundError: there is no such branch.
    """
    table.branches.require(name)
    own = table.name.removesuffix(f"$branch_{table.branch}")
    other = replace(table, branch=name, name=own if name == MAIN_BRANCH else f"{own}$branch_{name}")
    schema = other.schemas.latest()
    if schema is None:
        raise InvalidInputError(
            f"Branch '{name}' of {own} holds no schema: it was not made, or not deleted, to the end.",
            remedy="Delete the branch.",
        )
    return replace(other, schema=schema)


def check_named_branches(schema: TableSchema, branches: BranchManager, before: TableSchema | None = None) -> None:
    """Refuse a definition whose options name a branch that there is not, unless they did so before.

    Raises:
        InvalidOptionError: there is no such branch.
    """
    for option in (BRANCH, *NAMING_OPTIONS):
        name = schema.options.get(option.key)
        if name and (before is None or before.options.get(option.key) != name) and not branches.exists(name):
            raise InvalidOptionError(
                f"The option '{option.key}' cannot be '{name}': the table has no such branch.",
                key=option.key,
                remedy="Make the branch first.",
            )


def on_its_branch(table: Table, asked: str | None = None) -> Table:
    """The table on the branch that a statement, a session or its own option ``branch`` asks for.

    A branch that the table's name says, ``t$branch_b``, wins over all of them.

    Args:
        table: the table as its name says, without options of the statement or session.
        asked: the branch that the statement or session asks for.

    Raises:
        NotFoundError: there is no such branch.
    """
    name = asked or table.options.get(BRANCH)
    return table if table.branch != MAIN_BRANCH or name == MAIN_BRANCH else branch_of(table, name)


def moved_to_branch(table: Table, options: Mapping[str, str], *, writes: bool = False) -> Table:
    """The table on the branch that options of a read or write ask for, with the columns that the statement knows.

    Args:
        table: the table, as the statement was analysed with it.
        options: the options.
        writes: whether the branch must have no other columns either.

    Raises:
        NotFoundError: there is no such branch.
        InvalidInputError: its columns are not those of the table.
    """
    name = options.get(BRANCH.key, table.branch)
    if name == table.branch:
        return table
    other = branch_of(table, name)
    known, held = ([(f.name, f.type.as_nullable()) for f in t.schema.fields] for t in (table, other))
    if known != held and (writes or any(column not in held for column in known)):
        raise InvalidInputError(
            f"Branch '{name}' of {table.name} has other columns than '{table.branch}'.",
            remedy=f"Name it: `{other.name.rpartition('.')[2]}`.",
        )
    return other


def create_branch(
    table: Table,
    name: str,
    *,
    tag: str | None = None,
    snapshot_id: int | None = None,
    ignore_if_exists: bool = False,
    dry_run: bool = False,
) -> NewBranch:
    """Make a branch of the table or of one of its branches.

    Args:
        table: what the branch comes from.
        name: its name.
        tag: the tag that it begins with; it gets the tag too.
        snapshot_id: the snapshot that it begins with, one that a tag keeps among them; without either it begins empty.
        ignore_if_exists: whether a branch of that name is left as it is.
        dry_run: only say what would be done.

    Raises:
        InvalidInputError: the name can be none, or both a tag and a snapshot are given.
        AlreadyExistsError: there is a branch of that name.
        NoSuchSnapshotError: there is no such tag or snapshot, or it expired meanwhile.
    """
    if ignore_if_exists and table.branches.exists(name):
        return NewBranch(name, branch_of(table, name).schema.id, existed=True)
    check_branch_name(name)
    if tag is not None and snapshot_id is not None:
        raise InvalidInputError("A branch begins with a tag or a snapshot, not with both.", remedy="Leave one out.")
    if table.branches.exists(name):
        raise AlreadyExistsError(
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
        snapshot = kept_snapshot(table, snapshot_id)
    if snapshot is not None:
        files[f"{SNAPSHOT}/snapshot-{snapshot.id}"] = without_lost_changelog(table, snapshot).to_json().encode()
    schema = table.schemas.latest()
    if schema is None:
        raise changed_table(table)
    newest = schema.id if snapshot is None else _newest_used(table, snapshot)
    for i in sorted((i for i in table.schemas.ids() if i <= newest), reverse=True):
        files[f"{SCHEMA}/schema-{i}"] = table.schemas.directory.read(i)
    made = NewBranch(name, newest, snapshot)
    if table.authority is not None:
        if snapshot_id is not None:
            raise UnsupportedError(
                f"{table.name}: its catalog's server makes branches of tags, and not of snapshots.",
                remedy=f"Create a tag of snapshot {snapshot_id}, and the branch of the tag.",
            )
        if not dry_run:
            table.authority.create_branch(table.branch, name, tag)
        return made
    if dry_run:
        return made
    _sweep(table)
    if snapshot is None:
        _create(table, name, files)
        return made
    # Whatever becomes of this call, a branch that comes can be read.
    with held(table, snapshot, f"branch-of-{snapshot.id}") as guard:
        _create(table, name, files)
        if not is_kept(table, snapshot, guard):
            table.branches.remove(name)
            raise NoSuchSnapshotError(
                f"{table.name}: snapshot {snapshot.id} expired while branch '{name}' was made of it.",
                name=str(snapshot.id),
                remedy="Begin with a later one.",
            )
    return made


def _create(table: Table, name: str, files: Mapping[str, bytes]) -> None:
    with asked_for(f"{table.name}: branch '{name}'", table.file_io, table.branches.root(name)):
        table.branches.create(name, files)
    # If it is not there, it has gone with the table that got another name.
    if not is_same_table(table) and table.branches.exists(name):
        table.branches.remove(name)
        remove_if_dropped(table.file_io, table.paths.root)
        raise changed_table(table)


def delete_branches(table: Table, names: Sequence[str], *, dry_run: bool = False) -> list[BranchContent]:
    """Delete branches, none unless all can be; data files stay until the search for orphan files finds them.

    Args:
        table: the table, whichever of its branches.
        names: the branches.
        dry_run: only say what would be done.

    Returns:
        What each of them held.

    Raises:
        InvalidInputError: one is ``main``, or an option of the table names it.
        NotFoundError: one does not exist.
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name == MAIN_BRANCH:
            raise InvalidInputError(f"'{MAIN_BRANCH}' is the table itself and cannot be deleted.", remedy="DROP TABLE.")
        table.branches.require(name)
        _refuse_if_named(table, name, "deleted")
    held = [content_of(table, name) for name in wanted]
    if not dry_run:
        _sweep(table)
        for name in wanted:
            table.branches.remove(name)
    return held


def rename_branch(table: Table, name: str, target: str, *, dry_run: bool = False) -> BranchContent:
    """Give a branch another name.

    Args:
        table: the table, whichever of its branches.
        name: the branch.
        target: its new name, which must be free.
        dry_run: only say what would be done.

    Raises:
        InvalidInputError: the branch is ``main``, an option of the table names it, or the new name can be none.
        NotFoundError: there is no such branch.
        AlreadyExistsError: there is a branch of the new name.
    """
    if name == MAIN_BRANCH:
        raise InvalidInputError(f"'{MAIN_BRANCH}' is the table itself and cannot be renamed as a branch.")
    table.branches.require(name)
    check_branch_name(target)
    if table.branches.exists(target):
        raise AlreadyExistsError(f"{table.name}: branch '{target}' already exists.", name=target)
    _refuse_if_named(table, name, "renamed")
    held = content_of(table, name)
    if not dry_run:
        table.branches.rename(name, target)
    return replace(held, name=target)


def content_of(table: Table, name: str) -> BranchContent:
    """How much a branch holds; nothing is read but the names of its files."""
    branch = replace(table, branch=name)
    return BranchContent(name, len(branch.snapshots.directory.versions()), len(branch.tags.names()))


def _newest_used(table: Table, snapshot: Snapshot) -> int:
    """The greatest id of a schema that a snapshot, its files or one before it was written under.

    A writer that opened the table before ALTER TABLE may commit behind one that knew the new columns, and then its
    snapshot names the older schema.
    """
    if table.schemas.ids()[-1] <= snapshot.schema_id:
        return snapshot.schema_id
    before = (s.schema_id for s in table.snapshots.all() if s.id <= snapshot.id)
    used: int = pc.max(live_files(table, snapshot).entries["schema_id"]).as_py() or 0
    return max(snapshot.schema_id, used, *before)


def _refuse_if_named(table: Table, name: str, verb: str) -> None:
    """Refuse if an option of main or of the branch at hand names a branch, as reads would then miss its rows."""
    for branch in dict.fromkeys((MAIN_BRANCH, table.branch)):
        schema = replace(table, branch=branch).schemas.latest()
        for option in NAMING_OPTIONS:
            if schema is not None and schema.options.get(option.key) == name:
                where = table.name if branch == table.branch else "main"
                raise InvalidInputError(
                    f"Branch '{name}' cannot be {verb}: the option '{option.key}' of {where} names it.",
                    remedy="Unset the option first.",
                )


def _sweep(table: Table) -> None:
    table.branches.sweep(present_millis() - _DAY_MILLIS)

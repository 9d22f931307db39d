"""Fast-forward: a table becomes what one of its branches is, from where they parted on.

First the table goes back to the last commit that both share, as a rollback does, then the branch's schemas and commits
follow one by one. So the newest snapshot can be read at every moment, rivals are noticed, and a run that was
interrupted is finished by the next one. Where nothing is shared, as with a branch that began empty, the table is empty
in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from paimon_sql.errors import (
    CommitConflictError,
    InvalidInputError,
    MissingFileError,
    NoSuchSnapshotError,
    PaimonError,
    UnsupportedError,
)
from paimon_sql.format.paths import MAIN_BRANCH
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.authority import VersionAuthority
from paimon_sql.storage.branching import branch_of
from paimon_sql.storage.rollback import drop_changelogs, drop_newest_first
from paimon_sql.storage.table import Table
from paimon_sql.storage.tags import is_same_commit
from paimon_sql.storage.versioned import EARLIEST, LATEST, VersionedDirectory

_ATTEMPTS = 6


@dataclass(frozen=True)
class FastForwardPlan:
    """What becomes of the table, by the numbers and names of its metadata files.

    Attributes:
        shared: the last commit that the table and the branch share, 0 without any.
        previous: the newest snapshot of the table, None without any.
        current: the newest snapshot of the branch.
        kept: the snapshots of the table that stay, ascending.
        dropped: those that go, ascending.
        added: the snapshots of the branch that come, ascending.
        dropped_tags: the tags of the table that go.
        added_tags: the tags of the branch that come, or replace one of their name.
        dropped_schemas: the schemas of the table that the branch does not have, ascending.
        added_schemas: those of the branch that come, or replace one of their number, ascending.
    """

    shared: int
    previous: int | None
    current: int
    kept: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    dropped_tags: list[str] = field(default_factory=list)
    added_tags: list[str] = field(default_factory=list)
    dropped_schemas: list[int] = field(default_factory=list)
    added_schemas: list[int] = field(default_factory=list)

    def is_empty(self) -> bool:
        """Whether the table is what the branch is."""
        return not any(
            (
                self.dropped,
                self.added,
                self.dropped_tags,
                self.added_tags,
                self.dropped_schemas,
                self.added_schemas,
            )
        )


def fast_forward(table: Table, name: str, *, dry_run: bool = False) -> FastForwardPlan:
    """Let a table become what one of its branches is; the branch stays. What was done, or would be.

    Args:
        table: the table, or the branch that is to become another.
        name: the branch.
        dry_run: only say what would be done.

    Raises:
        NotFoundError: there is no such branch.
        InvalidInputError: the branch is main, the table itself, or has no snapshot.
        CommitConflictError: others keep committing to the table; run it again.
    """
    if name in (MAIN_BRANCH, table.branch):
        what = "the table itself" if name == table.branch else "what branches come from"
        raise InvalidInputError(
            f"{table.name} cannot be fast-forwarded to '{name}', which is {what}.", remedy="Name a branch of the table."
        )
    branch = branch_of(table, name)
    if table.authority is not None:
        return _forwarded_by(table.authority, table, branch, dry_run=dry_run)
    first: FastForwardPlan | None = None
    missed: PaimonError | None = None
    for _ in range(_ATTEMPTS):
        try:
            plan = plan_fast_forward(table, branch)
            first = first or plan
            if dry_run or plan.is_empty():
                return first
            _carry_out(table, branch, plan)
            missed = None
        except (NoSuchSnapshotError, MissingFileError) as error:
            missed = error  # it expired between two looks, or is lost for good
        table.snapshots.forget()
        branch.snapshots.forget()
    raise missed or CommitConflictError(
        f"{table.name}: others keep committing while it is fast-forwarded to branch '{name}'.",
        remedy="Stop the writers and run it again.",
    )


def _forwarded_by(authority: VersionAuthority, table: Table, branch: Table, *, dry_run: bool) -> FastForwardPlan:
    """Let whoever keeps the table's snapshots do it, who knows of no other way than into ``main``."""
    if table.branch != MAIN_BRANCH:
        raise UnsupportedError(f"{table.name}: its catalog's server fast-forwards the table itself, and no branch.")
    plan = plan_fast_forward(table, branch)
    if not dry_run and not plan.is_empty():
        authority.fast_forward(branch.branch)
        table.snapshots.forget()
    return plan


def plan_fast_forward(table: Table, branch: Table) -> FastForwardPlan:
    """What a fast-forward does.

    Args:
        table: the table.
        branch: the branch that it is to become.

    Raises:
        InvalidInputError: the branch has no snapshot.
    """
    theirs = _retained(branch)
    if not theirs:
        raise InvalidInputError(
            f"{table.name} cannot be fast-forwarded to '{branch.branch}': the branch has no snapshot.",
            remedy="Write to the branch first.",
        )
    mine = _retained(table)
    shared = _shared(table, branch, mine, theirs)
    kept = [i for i in mine if i <= shared]
    base = kept[-1] if kept else 0
    tags, own_tags = _tag_files(branch), _tag_files(table)
    later = {t.name for t in table.tags.all() if t.snapshot.id > shared}
    schemas, own_schemas = set(branch.schemas.ids()), set(table.schemas.ids())
    return FastForwardPlan(
        shared,
        mine[-1] if mine else None,
        theirs[-1],
        kept,
        [i for i in table.snapshots.directory.versions() if i > base and not _is_theirs(table, branch, i)],
        [i for i in theirs if i > base and not _is_theirs(table, branch, i)],
        sorted(n for n in later if tags.get(n) != own_tags.get(n)),
        sorted(n for n, data in tags.items() if own_tags.get(n) != data),
        sorted(own_schemas - schemas),
        sorted(i for i in schemas if i not in own_schemas or _differs(table, branch, i)),
    )


def _carry_out(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    snapshots, file_io = table.snapshots.directory, table.file_io
    tags = _tag_files(branch)
    for name in plan.dropped_tags:
        table.tags.remove(name)
    base = plan.kept[-1] if plan.kept else 0
    start = plan.kept[0] if plan.kept else _retained(branch)[0]
    snapshots.write_hint(EARLIEST, start)
    if base:
        snapshots.write_hint(LATEST, base)
    else:
        snapshots.delete_hint(LATEST)
    drop_newest_first(table, plan.dropped)
    drop_changelogs(table, plan.shared)
    _bring_schemas(table, branch, plan)
    for i in plan.added:
        if not _created(snapshots, i, branch.snapshots.directory.read(i)):
            return  # a rival was quicker: what it made goes in the next round
    for name in plan.added_tags:
        file_io.write_bytes(table.tags.path(name), tags[name])
        if not branch.tags.exists(name):
            table.tags.remove(name)  # deleted meanwhile, perhaps with what only it kept
    snapshots.write_hint(LATEST, plan.current)
    _drop_expired(table, branch, plan, start)


def _drop_expired(table: Table, branch: Table, plan: FastForwardPlan, start: int) -> None:
    """Let snapshots go again whose files the branch's own expiry may have deleted before it saw them here.

    That expiry says first which snapshots of the branch go, and then looks whether this hint was written.
    """
    snapshots = table.snapshots.directory
    snapshots.write_hint(EARLIEST, start)
    earliest = branch.snapshots.earliest_id() or 0
    gone = [i for i in plan.added if i < earliest]
    if gone and not plan.kept:
        snapshots.write_hint(EARLIEST, earliest)
    drop_newest_first(table, gone)


def _bring_schemas(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    """The commits that both share need none of the schemas that change here."""
    schemas = table.schemas.directory
    for i in reversed(plan.dropped_schemas):
        schemas.file_io.delete(schemas.path(i))
    for i in plan.added_schemas:
        schemas.file_io.write_bytes(schemas.path(i), branch.schemas.directory.read(i))


def _shared(table: Table, branch: Table, mine: list[int], theirs: list[int]) -> int:
    """The last commit that both have in a snapshot or tag."""
    own, foreign = _tagged(table), _tagged(branch)
    here, there = set(mine), set(theirs)
    for i in sorted((here | own.keys()) & (there | foreign.keys()), reverse=True):
        one = table.snapshots.get(i) if i in here else own[i]
        other = branch.snapshots.get(i) if i in there else foreign[i]
        if is_same_commit(one, other):
            return i
    return 0


def _is_theirs(table: Table, branch: Table, snapshot_id: int) -> bool:
    """Whether a snapshot of that id stands in both and is the same commit."""
    if not (table.snapshots.exists(snapshot_id) and branch.snapshots.exists(snapshot_id)):
        return False
    return is_same_commit(table.snapshots.get(snapshot_id), branch.snapshots.get(snapshot_id))


def _retained(table: Table) -> list[int]:
    earliest = table.snapshots.earliest_id()
    return [] if earliest is None else [i for i in table.snapshots.directory.versions() if i >= earliest]


def _tagged(table: Table) -> dict[int, Snapshot]:
    return {t.snapshot.id: t.snapshot for t in table.tags.all()}


def _tag_files(table: Table) -> dict[str, bytes]:
    return {name: table.file_io.read_bytes(table.tags.path(name)) for name in table.tags.names()}


def _differs(table: Table, branch: Table, schema_id: int) -> bool:
    return table.schemas.directory.read(schema_id) != branch.schemas.directory.read(schema_id)


def _created(directory: VersionedDirectory, number: int, data: bytes) -> bool:
    path = directory.path(number)
    if directory.file_io.can_create_exclusively(path):
        return directory.file_io.try_create_exclusive(path, data)
    if directory.exists(number):
        return False
    directory.file_io.write_bytes(path, data)
    return True

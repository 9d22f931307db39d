"""Fast-forward: a table becomes what one of its branches is, from where they parted on.

First the table goes back to the last commit that both share, as a rollback does, then the branch's schemas and commits
follow one by one. So the newest snapshot can be read at every moment, rivals are noticed, and a run that was
interrupted is finished by the next one. Where nothing is shared, as with a branch that began empty, the table is empty
in between.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace

from paimon_sql.errors import (
    CommitConflictError,
    InvalidInputError,
    MissingFileError,
    NoSuchSnapshotError,
    UnsupportedError,
)
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.branches.management import branch_of
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.maintenance.snapshots.rollback import (
    drop_changelogs,
    drop_newest_first,
    mark_rollback,
    overtaken,
    withdraw,
)
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.environment.snapshot_authority import VersionManagement
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.metadata.partial_changes import begun
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.metadata.rollback_marks import Rewind, with_generation
from paimon_sql.storage.retention.guard_tags import held, is_guard
from paimon_sql.storage.staging.table_identity import changed_table, is_same_table, require_same_table
from paimon_sql.storage.table.table import Table

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
        rewind: the last rollback of the table before this was planned, None if there was none.
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
    rewind: Rewind | None = None

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
        CommitUnknownError: it has not come to its end; run it again.
    """
    if name in (MAIN_BRANCH, table.branch):
        what = "the table itself" if name == table.branch else "what branches come from"
        raise InvalidInputError(
            f"{table.name} cannot be fast-forwarded to '{name}', which is {what}.", remedy="Name a branch of the table."
        )
    branch = branch_of(table, name)
    if table.authority is not None:
        return _forwarded_by(table.authority, table, branch, dry_run=dry_run)
    plan = _plan_until_unchanged(table, branch)
    if not dry_run:
        with begun(f"{table.name}: the fast-forward to branch '{name}'"):
            _follow(table, branch, plan)
        publish_quietly(table)
    return plan


def _follow(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    """Carry a plan out, and others until the table is what the branch is."""
    for _ in range(_ATTEMPTS):
        if plan.is_empty():
            table.snapshots.directory.settle_latest()
            return
        with suppress(NoSuchSnapshotError, MissingFileError):  # it expired between two looks
            _carry_out(table, branch, plan)
        plan = _plan_until_unchanged(table, branch)
    raise CommitConflictError(f"{table.name}: others keep committing meanwhile.", remedy="Stop the writers.")


def _plan_until_unchanged(table: Table, branch: Table) -> FastForwardPlan:
    """What is to be done; tried again where a snapshot expires between two looks, as one that is lost stays so."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(NoSuchSnapshotError, MissingFileError):
            return _present_plan(table, branch)
    return _present_plan(table, branch)


def _present_plan(table: Table, branch: Table) -> FastForwardPlan:
    table.snapshots.forget()
    branch.snapshots.forget()
    return plan_fast_forward(table, branch)


def _forwarded_by(authority: VersionManagement, table: Table, branch: Table, *, dry_run: bool) -> FastForwardPlan:
    """Let whoever keeps the table's snapshots do it, who knows of no other way than into ``main``."""
    if table.branch != MAIN_BRANCH:
        raise UnsupportedError(f"{table.name}: its catalog's server fast-forwards the table itself, and no branch.")
    plan = plan_fast_forward(table, branch)
    if not dry_run and not plan.is_empty():
        authority.fast_forward(branch.branch)
        table.snapshots.forget()
        publish_quietly(table)
    return plan


def plan_fast_forward(table: Table, branch: Table) -> FastForwardPlan:
    """What a fast-forward does.

    Args:
        table: the table.
        branch: the branch that it is to become.

    Raises:
        InvalidInputError: the branch has no snapshot.
    """
    rewind = table.snapshots.rewinds.read() if table.authority is None else None
    theirs = _retained(branch)
    if not theirs:
        raise InvalidInputError(
            f"{table.name} cannot be fast-forwarded to '{branch.branch}': the branch has no snapshot.",
            remedy="Write to the branch first.",
        )
    strays = set(table.snapshots.strays())
    mine = [i for i in _retained(table) if i not in strays]
    shared = _shared(table, branch, mine, theirs)
    kept = [i for i in mine if i <= shared]
    base = kept[-1] if kept else 0
    tags, own_tags = _tag_files(branch), _tag_files(table)
    later = {t.name for t in table.tags.all() if t.snapshot.id > shared}
    behind = [i for i in table.snapshots.directory.versions() if i > base]
    there = {i for i in behind if i not in strays and _is_theirs(table, branch, i)}
    # The mark that comes before anything is dropped takes all that stands behind what both share out of the history.
    dropped = [] if there.issuperset(behind) else behind
    needed = max((table.snapshots.get(i).schema_id for i in kept), default=-1)
    schemas, own_schemas = set(branch.schemas.ids()), set(table.schemas.ids())
    return FastForwardPlan(
        shared,
        mine[-1] if mine else None,
        theirs[-1],
        kept,
        dropped,
        [i for i in theirs if i > base and (dropped or i not in there)],
        sorted(n for n in later if tags.get(n) != own_tags.get(n)),
        sorted(n for n, data in tags.items() if own_tags.get(n) != data),
        sorted(i for i in own_schemas - schemas if i > needed),
        sorted(i for i in schemas if i not in own_schemas or _differs(table, branch, i)),
        rewind,
    )


def _carry_out(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    table = _lasting(table, plan)
    base = plan.kept[-1] if plan.kept and plan.dropped else 0
    with held(table, table.snapshots.get(base), f"fast-forward-to-{base}") if base else nullcontext():
        _replace_history(table, branch, plan)


def _replace_history(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    snapshots, file_io = table.snapshots.directory, table.file_io
    base = plan.kept[-1] if plan.kept else 0
    start = base or _first(branch)
    tags = _tag_files(branch)
    for name in plan.dropped_tags:
        table.tags.remove(name)
    _begin(table, start, is_fresh=not base)
    target = table.snapshots.get(base) if base else None
    rewind = mark_rollback(table, target) if plan.dropped else plan.rewind
    if base:
        snapshots.reset_hint(LATEST, base)
    else:
        snapshots.delete_hint(LATEST)
    if plan.dropped and rewind is not None:
        drop_newest_first(table, overtaken(table, plan.dropped, rewind))
    drop_changelogs(table, plan.shared)
    _bring_schemas(table, branch, plan)
    brought: dict[int, bytes] = {}
    for i in plan.added:
        made = _created(table, i, branch.snapshots.directory.read(i), rewind)
        if made is None:
            return  # a rival was quicker: what it made goes in the next round
        brought[i] = made
    for name in (name for name in plan.added_tags if name in tags):
        file_io.write_durably(table.tags.path(name), tags[name])
        if not branch.tags.exists(name):
            table.tags.remove(name)  # deleted meanwhile, perhaps with what only it kept
    snapshots.reset_hint(LATEST, plan.current)
    snapshots.settle_latest()
    _drop_expired(table, branch, plan, start, brought)


def _lasting(table: Table, plan: FastForwardPlan) -> Table:
    """The table by a schema that the plan leaves as it is, which tells whether the table is still the same one."""
    changed = {*plan.dropped_schemas, *plan.added_schemas}
    return next((replace(table, schema=s) for s in table.schemas.all() if s.id not in changed), table)


def _drop_expired(table: Table, branch: Table, plan: FastForwardPlan, start: int, brought: dict[int, bytes]) -> None:
    """Let snapshots go again whose files the branch's own expiry may have deleted before it saw them here.

    That expiry says first which snapshots of the branch go, and then looks whether this hint was written.
    """
    snapshots = table.snapshots.directory
    _begin(table, start, is_fresh=not plan.kept)
    earliest = branch.snapshots.earliest_id() or 0
    gone = {i: data for i, data in brought.items() if i < earliest}
    if gone and not plan.kept:
        snapshots.reset_hint(EARLIEST, earliest)
    drop_newest_first(table, gone)
    snapshots.settle_earliest(start)


def _begin(table: Table, start: int, *, is_fresh: bool) -> None:
    """Let the table's history begin no later than a snapshot, which the branch holds too.

    Earlier ones that the table keeps may be expiring: they come back for nobody.
    """
    snapshots = table.snapshots.directory
    if is_fresh:
        snapshots.reset_hint(EARLIEST, start)
    else:
        snapshots.settle_earliest(start)


def _bring_schemas(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    """The commits that both share need none of the schemas that change here.

    Raises:
        NoSuchTableError: the table was dropped or replaced; nothing is left in its directory.
    """
    schemas, brought = table.schemas.directory, dict[int, bytes]()
    require_same_table(table)
    for i in reversed(plan.dropped_schemas):
        schemas.file_io.delete_durably(schemas.path(i))
    for i in plan.added_schemas:
        brought[i] = branch.schemas.directory.read(i)
        schemas.file_io.write_durably(schemas.path(i), brought[i])
    if brought and not is_same_table(table):
        for i, data in brought.items():
            with suppress(MissingFileError):
                if schemas.read(i) == data:
                    schemas.file_io.delete_durably(schemas.path(i))
        schemas.file_io.delete_dir(schemas.directory)
        remove_if_dropped(table.file_io, table.path)
        raise changed_table(table)


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


def _first(branch: Table) -> int:
    """The first snapshot of a branch that had some when the fast-forward was planned.

    Raises:
        NoSuchSnapshotError: they are gone, or the branch is.
    """
    found = _retained(branch)
    if not found:
        raise NoSuchSnapshotError(
            f"{branch.name} has no snapshot any more: others took them away meanwhile.", name=branch.branch
        )
    return found[0]


def _tagged(table: Table) -> dict[int, Snapshot]:
    return {t.snapshot.id: t.snapshot for t in table.tags.all()}


def _tag_files(table: Table) -> dict[str, bytes]:
    """What the tags hold, those apart that other statements hold snapshots by."""
    return {n: table.file_io.read_bytes(table.tags.path(n)) for n in table.tags.names() if not is_guard(n)}


def _differs(table: Table, branch: Table, schema_id: int) -> bool:
    return table.schemas.directory.read(schema_id) != branch.schemas.directory.read(schema_id)


def _created(table: Table, number: int, data: bytes, rewind: Rewind | None) -> bytes | None:
    """Make a snapshot of the table: what its file holds; None where a rival's of that id stays as it is.

    Others may roll the table back before this call has made it: then it is none of the history, and is withdrawn.

    Args:
        table: the table.
        number: the snapshot's id.
        data: the snapshot as the branch holds it.
        rewind: the last rollback that this fast-forward knows of.

    Raises:
        NoSuchTableError: the table was dropped or replaced; the snapshot is withdrawn.
    """
    require_same_table(table)
    directory = table.snapshots.directory
    path = directory.path(number)
    snapshot = parse_snapshot(data, path)
    said = snapshot.properties or {}
    properties = with_generation(said, number, rewind, table.branch)
    if properties != said:
        snapshot = replace(snapshot, properties=properties or None)
        data = snapshot.to_json().encode()
    with table.lock.held(table.branch) as hold:
        hold.confirm()
        if not directory.file_io.try_create_exclusive(path, data, locked=hold.is_locked):
            return None
    last = table.snapshots.rewinds.read()
    if (is_same := is_same_table(table)) and (last is None or not last.is_stray(snapshot)):
        return data
    withdraw(table, number, data)
    if not is_same:
        raise changed_table(table)
    return None

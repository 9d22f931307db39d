"""Fast-forward: a table takes over the history of one of its branches (Paimon: Manage Branches).

The table is first rolled back to the last commit that both share; then the branch's schemas and snapshots are added one
by one. So the newest snapshot is readable at every moment, concurrent commits are detected, and the next run completes
an interrupted one. If nothing is shared, as with a branch that began empty, the table is empty in between.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace

from paimon_sql import errors
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.maintenance.snapshots import rollback
from paimon_sql.storage.metadata.catalog_environment import VersionManagement
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.metadata.partial_changes import begun
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.metadata.snapshots import Rollback, SnapshotView, with_generation
from paimon_sql.storage.retention.tags import guard_tag, is_guard
from paimon_sql.storage.staging.proposal import changed_table, is_same_table, require_same_table
from paimon_sql.storage.table.table import Table

_ATTEMPTS = 6


@dataclass(frozen=True)
class FastForwardPlan:
    """The changes to a table's metadata files, by their ids and names.

    Attributes:
        shared: the last commit that the table and the branch share, 0 without any.
        previous: the newest snapshot of the table, None without any.
        current: the newest snapshot of the branch.
        kept: the snapshots of the table that stay, ascending.
        dropped: the snapshots of the table that are removed, ascending.
        added: the snapshots of the branch that are added, ascending.
        dropped_tags: the tags of the table that are removed.
        added_tags: the tags of the branch that are added, or replace one of the same name.
        dropped_schemas: the schemas of the table that the branch does not have, ascending.
        added_schemas: the schemas of the branch that are added, or replace one of the same id, ascending.
        rewind: the last rollback of the table before this was planned, None without any.
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
    rewind: Rollback | None = None

    def is_empty(self) -> bool:
        """Whether table and branch are equal."""
        return not any(
            (self.dropped, self.added, self.dropped_tags, self.added_tags, self.dropped_schemas, self.added_schemas)
        )


def fast_forward(table: Table, name: str, *, dry_run: bool = False) -> FastForwardPlan:
    """Fast-forward a table to one of its branches, which stays; return what was done, or would be.

    Args:
        table: the table, or the branch to fast-forward.
        name: the branch.
        dry_run: only plan.

    Raises:
        NotFoundError: there is no such branch.
        InvalidInputError: the branch is main, the table itself, or has no snapshot.
        CommitUnknownError: it was interrupted; run it again.
    """
    if name in (MAIN_BRANCH, table.branch):
        what = "the table itself" if name == table.branch else "the main branch"
        raise errors.InvalidInputError(
            f"{table.name} cannot be fast-forwarded to '{name}', which is {what}.", remedy="Name a branch of the table."
        )
    branch = branch_of(table, name)
    if table.version_management is not None:
        return _forwarded_by(table.version_management, table, branch, dry_run=dry_run)
    plan = _plan_until_unchanged(table, branch)
    if not dry_run:
        with begun(f"{table.name}: the fast-forward to branch '{name}'"):
            _follow(table, branch, plan)
        publish_quietly(table)
    return plan


def _follow(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    """Execute a plan, and further ones until table and branch are equal."""
    for _ in range(_ATTEMPTS):
        if plan.is_empty():
            table.snapshots.directory.settle_latest()
            return
        with suppress(errors.NoSuchSnapshotError, errors.MissingFileError):  # a snapshot expired meanwhile
            _execute(table, branch, plan)
        plan = _plan_until_unchanged(table, branch)
    raise errors.CommitConflictError(
        f"{table.name}: other jobs keep committing concurrently.", remedy="Stop the writers."
    )


def _plan_until_unchanged(table: Table, branch: Table) -> FastForwardPlan:
    """Plan; retry if a snapshot expires meanwhile. The last attempt raises, for a snapshot that is lost stays lost."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(errors.NoSuchSnapshotError, errors.MissingFileError):
            return plan_fast_forward(table, branch)
    return plan_fast_forward(table, branch)


def _forwarded_by(authority: VersionManagement, table: Table, branch: Table, *, dry_run: bool) -> FastForwardPlan:
    """Let the catalog's server fast-forward, which it can do only for ``main``."""
    if table.branch != MAIN_BRANCH:
        raise errors.UnsupportedError(
            f"{table.name}: its catalog's server fast-forwards the table itself, and no branch."
        )
    plan = plan_fast_forward(table, branch)
    if not dry_run and not plan.is_empty():
        authority.fast_forward(branch.branch)
        publish_quietly(table)
    return plan


def plan_fast_forward(table: Table, branch: Table) -> FastForwardPlan:
    """Plan a fast-forward.

    Args:
        table: the table.
        branch: the branch to fast-forward to.

    Raises:
        InvalidInputError: the branch has no snapshot.
    """
    rewind = table.snapshots.rewinds.read() if table.version_management is None else None
    branch_ids = branch.snapshots.retained_ids()
    if not branch_ids:
        raise errors.InvalidInputError(
            f"{table.name} cannot be fast-forwarded to '{branch.branch}': the branch has no snapshot.",
            remedy="Write to the branch first.",
        )
    strays = set(table.snapshots.late_snapshots())
    table_ids = [i for i in table.snapshots.retained_ids() if i not in strays]
    mine, theirs = SnapshotView(table.snapshots), SnapshotView(branch.snapshots)
    shared = _shared(table, branch, mine, theirs, table_ids, branch_ids)
    kept = [i for i in table_ids if i <= shared]
    base = kept[-1] if kept else 0
    tags, own_tags = _tag_files(branch), _tag_files(table)
    later = {t.name for t in table.tags.all() if t.snapshot.id > shared}
    newer = [i for i in table.snapshots.directory.versions() if i > base]
    present = {i for i in newer if i not in strays and _is_theirs(mine, theirs, i)}
    # The rollback mark, written before anything is dropped, removes all snapshots after the shared ones from history.
    dropped = [] if present.issuperset(newer) else newer
    needed = max((mine.get(i).schema_id for i in kept), default=-1)
    schemas, own_schemas = set(branch.schemas.ids()), set(table.schemas.ids())
    written, own_written = branch.schemas.directory, table.schemas.directory
    return FastForwardPlan(
        shared,
        table_ids[-1] if table_ids else None,
        branch_ids[-1],
        kept,
        dropped,
        [i for i in branch_ids if i > base and (dropped or i not in present)],
        sorted(n for n in later if tags.get(n) != own_tags.get(n)),
        sorted(n for n, data in tags.items() if own_tags.get(n) != data),
        sorted(i for i in own_schemas - schemas if i > needed),
        sorted(i for i in schemas if i not in own_schemas or own_written.read(i) != written.read(i)),
        rewind,
    )


def _execute(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    table = _by_stable_schema(table, plan)
    base = plan.kept[-1] if plan.kept and plan.dropped else 0
    target = table.snapshots.get(base) if base else None
    with nullcontext() if target is None else guard_tag(table, target, f"fast-forward-to-{base}"):
        _replace_history(table, branch, plan, target)


def _replace_history(table: Table, branch: Table, plan: FastForwardPlan, target: Snapshot | None) -> None:
    snapshots, file_io = table.snapshots.directory, table.file_io
    base = plan.kept[-1] if plan.kept else 0
    start = base or _first(branch)
    tags = _tag_files(branch)
    for name in plan.dropped_tags:
        table.tags.remove(name)
    _begin(table, start, is_fresh=not base)
    rewind = rollback.mark_rollback(table, target) if plan.dropped else plan.rewind
    if base:
        snapshots.reset_hint(LATEST, base)
    else:
        snapshots.delete_hint(LATEST)
    if plan.dropped and rewind is not None:
        rollback.drop_newest_first(table, rollback.overtaken(table, plan.dropped, rewind))
    rollback.drop_changelogs(table, plan.shared)
    _bring_schemas(table, branch, plan)
    brought: dict[int, bytes] = {}
    for i in plan.added:
        made = _created(table, i, branch.snapshots.directory.read(i), rewind)
        if made is None:
            return  # a concurrent commit was faster: the next round drops its snapshot
        brought[i] = made
    for name in (name for name in plan.added_tags if name in tags):
        file_io.write_durably(table.tags.path(name), tags[name])
        if not branch.tags.exists(name):
            table.tags.remove(name)  # deleted meanwhile, perhaps with files that only it retained
    snapshots.reset_hint(LATEST, plan.current)
    snapshots.settle_latest()
    _drop_expired(table, branch, plan, start, brought)


def _by_stable_schema(table: Table, plan: FastForwardPlan) -> Table:
    """The table by a schema that the plan does not change, so that checks of its identity keep working."""
    changed = {*plan.dropped_schemas, *plan.added_schemas}
    return next((replace(table, schema=s) for s in table.schemas.all() if s.id not in changed), table)


def _drop_expired(table: Table, branch: Table, plan: FastForwardPlan, start: int, brought: dict[int, bytes]) -> None:
    """Drop added snapshots whose files an expiration of the branch may have deleted before it saw them here.

    That expiration first records which snapshots of the branch expire, and then reads the hint that `_begin` writes.
    """
    snapshots = table.snapshots.directory
    _begin(table, start, is_fresh=not plan.kept)
    earliest = branch.snapshots.earliest_id() or 0
    expired = {i: data for i, data in brought.items() if i < earliest}
    if expired and not plan.kept:
        snapshots.reset_hint(EARLIEST, earliest)
    rollback.drop_newest_first(table, expired)
    snapshots.settle_earliest(start)


def _begin(table: Table, start: int, *, is_fresh: bool) -> None:
    """Set the earliest snapshot of the table to at most ``start``, which the branch has too.

    Earlier ones of the table may be expiring and are not brought back.
    """
    snapshots = table.snapshots.directory
    if is_fresh:
        snapshots.reset_hint(EARLIEST, start)
    else:
        snapshots.settle_earliest(start)


def _bring_schemas(table: Table, branch: Table, plan: FastForwardPlan) -> None:
    """Drop and add schemas; the shared commits need none of those that change.

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
            with suppress(errors.MissingFileError):
                if schemas.read(i) == data:
                    schemas.file_io.delete_durably(schemas.path(i))
        schemas.file_io.delete_dir(schemas.directory)
        remove_if_dropped(table.file_io, table.path)
        raise changed_table(table)


def _shared(
    table: Table, branch: Table, mine: SnapshotView, theirs: SnapshotView, table_ids: list[int], branch_ids: list[int]
) -> int:
    """The last commit that both have as a snapshot or tag; 0 without any."""
    table_tags, branch_tags = _tagged(table), _tagged(branch)
    in_table, in_branch = set(table_ids), set(branch_ids)
    for i in sorted((in_table | table_tags.keys()) & (in_branch | branch_tags.keys()), reverse=True):
        one = mine.get(i) if i in in_table else table_tags[i]
        other = theirs.get(i) if i in in_branch else branch_tags[i]
        if is_same_commit(one, other):
            return i
    return 0


def _is_theirs(mine: SnapshotView, theirs: SnapshotView, snapshot_id: int) -> bool:
    """Whether both have a snapshot of that id, from the same commit."""
    one, other = mine.find(snapshot_id), theirs.find(snapshot_id)
    return one is not None and other is not None and is_same_commit(one, other)


def _first(branch: Table) -> int:
    """The first snapshot of a branch that had some when the fast-forward was planned.

    Raises:
        NoSuchSnapshotError: its snapshots were removed, or the branch was.
    """
    found = branch.snapshots.retained_ids()
    if not found:
        raise errors.NoSuchSnapshotError(
            f"{branch.name} has no snapshots any more: they were removed concurrently.", name=branch.branch
        )
    return found[0]


def _tagged(table: Table) -> dict[int, Snapshot]:
    return {t.snapshot.id: t.snapshot for t in table.tags.all()}


def _tag_files(table: Table) -> dict[str, bytes]:
    """The contents of the tag files, without guard tags."""
    return {n: table.file_io.read_bytes(table.tags.path(n)) for n in table.tags.names() if not is_guard(n)}


def _created(table: Table, number: int, data: bytes, rewind: Rollback | None) -> bytes | None:
    """Create a snapshot of the table and return its file's content; None if a concurrent commit took the id.

    A rollback may come before this call has created it: then it is not part of the history, and is withdrawn.

    Args:
        table: the table.
        number: the snapshot's id.
        data: the branch's snapshot file.
        rewind: the last rollback that this fast-forward knows of.

    Raises:
        NoSuchTableError: the table was dropped or replaced; the snapshot is withdrawn.
    """
    require_same_table(table)
    directory = table.snapshots.directory
    path = directory.path(number)
    snapshot = parse_snapshot(data, path)
    given = snapshot.properties or {}
    properties = with_generation(given, number, rewind, table.branch)
    if properties != given:
        snapshot = replace(snapshot, properties=properties or None)
        data = snapshot.to_json().encode()
    with table.lock.acquire(table.branch) as hold:
        hold.confirm()
        if not directory.file_io.try_create_exclusive(path, data, locked=hold.is_locked):
            return None
    last = table.snapshots.rewinds.read()
    if (is_same := is_same_table(table)) and (last is None or not last.is_late(snapshot)):
        return data
    rollback.withdraw(table, number, data)
    if not is_same:
        raise changed_table(table)
    return None

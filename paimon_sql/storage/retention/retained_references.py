"""Who holds on to files: snapshots that stay, tags, and whatever the other branches of the table keep.

Branches share data files, manifests and indexes, so what one of them no longer needs another may. If a protector cannot
be read, nobody can say what it needs: then nothing may be removed. If it has gone meanwhile, what it would have told of
those behind it is not known either: then all are asked anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from paimon_sql.errors import CommitConflictError, MissingFileError, NoSuchSnapshotError, PaimonError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.refs.tags import NamedTag, commit_key
from paimon_sql.storage.retention.used_files import UsedFiles, changelog_data, changelog_metadata
from paimon_sql.storage.table.changelogs import ChangelogManager
from paimon_sql.storage.table.table import Table

Fingerprint = tuple[tuple[str, ...], tuple[FileStatus | None, ...]]
R = TypeVar("R")

_ATTEMPTS = 10
_PAUSE = 0.02


@dataclass(frozen=True)
class RetainedReference:
    """A snapshot whose files stay.

    Attributes:
        what: what it is, for messages.
        snapshot: the snapshot.
        stands: whether it is still there: what vanished meanwhile needs no file any more.
        with_changelog: whether it needs the changelog of its commit too.
        speaks_for_later: whether it is the last that was asked of a branch. What it needs later snapshots may need, so
            if it vanishes somebody else must be asked for them.
    """

    what: str
    snapshot: Snapshot
    stands: Callable[[], bool]
    with_changelog: bool = False
    speaks_for_later: bool = False

    def has_vanished(self) -> bool:
        """Whether it is no longer there, so that nobody misses a file of it.

        Raises:
            CommitConflictError: it is not, but it was to speak for later ones.
        """
        if self.stands():
            return False
        if self.speaks_for_later:
            raise CommitConflictError(f"{self.what} expired while its files were counted.", remedy="Try again.")
        return True


@dataclass(frozen=True)
class Uses:
    """What protectors need: names of data and changelog files, among those asked for, and of metadata files."""

    data: frozenset[str]
    metadata: frozenset[str]


def uses_of(
    table: Table, protectors: Sequence[RetainedReference], changelogs: Iterable[Changelog], names: pa.Array | None
) -> Uses:
    """What protectors need.

    Args:
        table: the table.
        protectors: the snapshots.
        changelogs: changelogs that outlive their snapshots.
        names: the names of the data files that are asked for; None for all.

    Raises:
        PaimonError: a protector that is still there cannot be read.
        CommitConflictError: one vanished that was to speak for later snapshots.
    """
    used = UsedFiles(table, names)
    used.prefetch(p.snapshot for p in protectors)
    data: set[str] = set()
    metadata: set[str] = set()
    for protector in protectors:
        try:
            data |= used.live(protector.snapshot)
            metadata |= used.metadata(protector.snapshot, changelog=protector.with_changelog)
        except MissingFileError as error:
            if not protector.has_vanished():
                raise PaimonError(
                    f"{table.name}: nothing was deleted, because what {protector.what} needs cannot be found out:"
                    f" {error.message}"
                ) from error
    for changelog in changelogs:
        data |= changelog_data(table, changelog)
        metadata |= changelog_metadata(table, changelog)
    return Uses(frozenset(data), frozenset(metadata))


def reference_of_snapshot(
    table: Table, snapshot: Snapshot, *, with_changelog: bool = False, speaks_for_later: bool = True
) -> RetainedReference:
    """A snapshot that stays."""
    what = f"snapshot {snapshot.id}" + (f" of branch {table.branch}" if table.branch != MAIN_BRANCH else "")

    def stands() -> bool:
        earliest = table.snapshots.earliest_id()
        return earliest is not None and snapshot.id >= earliest and table.snapshots.exists(snapshot.id)

    return RetainedReference(what, snapshot, stands, with_changelog, speaks_for_later)


def reference_of_tag(table: Table, tag: NamedTag) -> RetainedReference:
    """A tag."""
    return RetainedReference(f"tag '{tag.name}'", tag.snapshot, lambda: table.tags.exists(tag.name))


def nearest_tags(tags: Iterable[NamedTag], begin: int, end: int) -> list[NamedTag]:
    """The tags that may need what the snapshots of ``[begin, end)`` used: those in this range and the last before.

    Before that tag there is none that needs more: a file is live in an unbroken run of snapshots. One of several tags
    of a snapshot is enough.
    """
    by_id = {tag.snapshot.id: tag for tag in tags}
    before = max((i for i in by_id if i < begin), default=None)
    return [tag for i, tag in sorted(by_id.items()) if begin <= i < end or i == before]


def other_branches(table: Table) -> list[Table]:
    """The table as its other branches see it, main among them."""
    names = [MAIN_BRANCH, *table.branches.names()]
    return [replace(table, branch=name) for name in names if name != table.branch]


def references_of_branches(branch: Table) -> list[RetainedReference]:
    """All that one branch keeps in snapshots and tags.

    Raises:
        CommitConflictError: what it keeps changed meanwhile.
    """
    earliest = branch.snapshots.earliest_id() or 0
    kept = [s for s in branch.snapshots.all() if s.id >= earliest]
    if not kept and branch.snapshots.latest_id() is not None:
        raise CommitConflictError(f"All snapshots of {branch.name} expired while they were looked for.")
    # A number comes again after a rollback, and a tag may keep another commit of that number.
    tags = {commit_key(t.snapshot): t for t in branch.tags.all()}
    for s in kept:
        tags.pop(commit_key(s), None)
    return [
        *(reference_of_snapshot(branch, s, with_changelog=True, speaks_for_later=s is kept[-1]) for s in kept),
        *(reference_of_tag(branch, t) for t in tags.values()),
    ]


def changelogs_of(branch: Table) -> list[Changelog]:
    """The changelogs of a branch that outlive their snapshots."""
    return ChangelogManager(branch.file_io, branch.paths.branch_root).all()


def fingerprint(table: Table) -> Fingerprint:
    """Something that changes when tags or branches come, go or change.

    A fast-forward writes the hint ``EARLIEST`` of the branch that it brings snapshots to.
    """
    branches = other_branches(table)
    files = [status for b in (table, *branches) for status in b.tags.files()]
    hints = [table.file_io.status(f"{b.snapshots.directory.directory}/{EARLIEST}") for b in branches]
    return tuple(b.branch for b in branches), (*files, *hints)


def retry_on_concurrent_change(
    table: Table, find: Callable[[], R], matters: Callable[[R], bool] = lambda found: True
) -> R:
    """What is found out while no tag or branch comes, goes or changes, and nobody vanishes who was asked.

    Args:
        table: the table or branch.
        find: finds it out; it is called again when it was disturbed.
        matters: whether something found leads to anything; what does not is good enough even if it was disturbed.

    Raises:
        CommitConflictError: it was disturbed again and again.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
            table.snapshots.forget()  # one that a rival let expire would be asked again and again
        seen = fingerprint(table)
        try:
            found = find()
        except (CommitConflictError, NoSuchSnapshotError):
            continue
        except PaimonError as error:
            if isinstance(error.__cause__, MissingFileError) and attempt < _ATTEMPTS - 1:
                continue  # a rival may be at it: the next look tells whether the file is lost for good
            raise
        if not matters(found) or fingerprint(table) == seen:
            return found
    raise CommitConflictError(
        f"{table.name}: snapshots, tags or branches changed {_ATTEMPTS} times while the files in use were counted; no"
        " file was deleted.",
        remedy="Try again; CALL sys.remove_orphan_files finds what nobody uses.",
    )

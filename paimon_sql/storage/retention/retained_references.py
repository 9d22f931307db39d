"""References that retain files: snapshots, tags, and those of other branches.

Branches share data files, manifests and indexes. If a reference cannot be read, its files are unknown, and nothing may
be deleted. If a reference vanished meanwhile, so are the files of those after it for which it was read; then all are
read again.
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
from paimon_sql.storage.table.table import Table

Fingerprint = tuple[tuple[str, ...], tuple[FileStatus | None, ...]]
R = TypeVar("R")

_ATTEMPTS = 10
_PAUSE = 0.02


@dataclass(frozen=True)
class RetainedReference:
    """A snapshot whose files are retained.

    Attributes:
        what: the reference, for messages.
        snapshot: the snapshot.
        stands: whether the reference still exists: one that has vanished needs no files.
        with_changelog: whether the changelog of its commit is retained too.
        speaks_for_later: whether it is the last that is read of a branch. Later snapshots may need the same files, so
            if it vanishes, another must be read instead.
    """

    what: str
    snapshot: Snapshot
    stands: Callable[[], bool]
    with_changelog: bool = False
    speaks_for_later: bool = False

    def has_vanished(self) -> bool:
        """Whether the reference no longer exists, so that its files are not needed.

        Raises:
            CommitConflictError: it does not exist, but was read for later snapshots as well.
        """
        if self.stands():
            return False
        if self.speaks_for_later:
            raise CommitConflictError(f"{self.what} expired while its files were counted.", remedy="Try again.")
        return True


@dataclass(frozen=True)
class Uses:
    """The names of files that references need: data and changelog files, among those looked for, and metadata files."""

    data: frozenset[str]
    metadata: frozenset[str]


def uses_of(
    table: Table, references: Sequence[RetainedReference], changelogs: Iterable[Changelog], names: pa.Array | None
) -> Uses:
    """Return the files that references need.

    Args:
        table: the table.
        references: the references.
        changelogs: changelogs that outlive their snapshots.
        names: the names of data files to look for; None for all.

    Raises:
        PaimonError: an existing reference cannot be read.
        CommitConflictError: one vanished that was read for later snapshots as well.
    """
    used = UsedFiles(table, names)
    used.prefetch(p.snapshot for p in references)
    data: set[str] = set()
    metadata: set[str] = set()
    for reference in references:
        try:
            data |= used.live(reference.snapshot)
            metadata |= used.metadata(reference.snapshot, changelog=reference.with_changelog)
        except MissingFileError as error:
            if not reference.has_vanished():
                raise PaimonError(
                    f"{table.name}: nothing was deleted, because the files that {reference.what} needs cannot be"
                    f" determined: {error.message}"
                ) from error
    for changelog in changelogs:
        data |= changelog_data(table, changelog)
        metadata |= changelog_metadata(table, changelog)
    return Uses(frozenset(data), frozenset(metadata))


def reference_of_snapshot(
    table: Table, snapshot: Snapshot, *, with_changelog: bool = False, speaks_for_later: bool = True
) -> RetainedReference:
    """Return the reference of a retained snapshot."""
    what = f"snapshot {snapshot.id}" + (f" of branch {table.branch}" if table.branch != MAIN_BRANCH else "")

    def stands() -> bool:
        earliest = table.snapshots.earliest_id()
        return earliest is not None and snapshot.id >= earliest and table.snapshots.exists(snapshot.id)

    return RetainedReference(what, snapshot, stands, with_changelog, speaks_for_later)


def reference_of_tag(table: Table, tag: NamedTag) -> RetainedReference:
    """Return the reference of a tag."""
    return RetainedReference(f"tag '{tag.name}'", tag.snapshot, lambda: table.tags.exists(tag.name))


def nearest_tags(tags: Iterable[NamedTag], begin: int, end: int) -> list[NamedTag]:
    """Return the tags that may need files of the snapshots ``[begin, end)``: those in this range and the last before.

    No earlier tag needs more, as a file is live in consecutive snapshots. One of several tags of a snapshot suffices.
    """
    by_id = {tag.snapshot.id: tag for tag in tags}
    before = max((i for i in by_id if i < begin), default=None)
    return [tag for i, tag in sorted(by_id.items()) if begin <= i < end or i == before]


def other_branches(table: Table) -> list[Table]:
    """Return the other branches of the table, including main."""
    names = [MAIN_BRANCH, *table.branches.names()]
    return [replace(table, branch=name) for name in names if name != table.branch]


def references_of_branches(branch: Table, *, with_expiring: bool = False) -> list[RetainedReference]:
    """Return the references of a branch: snapshots and tags.

    Args:
        branch: the branch.
        with_expiring: whether to include the snapshots of an unfinished expiration, whose files the next one deletes.

    Raises:
        CommitConflictError: they changed concurrently.
    """
    earliest = branch.snapshots.earliest_id() or 0
    existing = list(branch.snapshots.all())
    stored = [s for s in existing if s.id >= earliest]
    expiring = [s for s in existing if s.id < earliest] if with_expiring else []
    if not stored and branch.snapshots.latest_id() is not None:
        raise CommitConflictError(f"All snapshots of {branch.name} expired while they were listed.")
    # After a rollback ids are reused, so a tag may refer to another commit with the same id.
    tags = {commit_key(t.snapshot): t for t in branch.tags.all()}
    for s in stored:
        tags.pop(commit_key(s), None)
    return [
        *(reference_of_snapshot(branch, s, with_changelog=True, speaks_for_later=False) for s in expiring),
        *(reference_of_snapshot(branch, s, with_changelog=True, speaks_for_later=s is stored[-1]) for s in stored),
        *(reference_of_tag(branch, t) for t in tags.values()),
    ]


def changelogs_of(branch: Table) -> list[Changelog]:
    """Return the changelogs of a branch that outlive their snapshots."""
    return branch.changelogs.all()


def fingerprint(table: Table) -> Fingerprint:
    """Return a value that changes whenever tags or branches are created, deleted or changed.

    A fast-forward is detected by the EARLIEST hint of the branch, which it writes.
    """
    branches = other_branches(table)
    files = [status for b in (table, *branches) for status in b.tags.files()]
    hints = [table.file_io.status(f"{b.snapshots.directory.directory}/{EARLIEST}") for b in branches]
    return tuple(b.branch for b in branches), (*files, *hints)


def retry_on_concurrent_change(
    table: Table, find: Callable[[], R], matters: Callable[[R], bool] = lambda found: True
) -> R:
    """Return a result that was computed while no tag or branch changed and no reference vanished.

    Args:
        table: the table or branch.
        find: computes the result; called again after a concurrent change.
        matters: whether a result has consequences; one without is returned in spite of concurrent changes.

    Raises:
        CommitConflictError: there were concurrent changes in every attempt.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        before = fingerprint(table)
        try:
            found = find()
        except (CommitConflictError, NoSuchSnapshotError):
            continue
        except PaimonError as error:
            if isinstance(error.__cause__, MissingFileError) and attempt < _ATTEMPTS - 1:
                continue  # possibly a concurrent expiration: the next attempt shows whether the file is lost
            raise
        if not matters(found) or fingerprint(table) == before:
            return found
    raise CommitConflictError(
        f"{table.name}: snapshots, tags or branches changed {_ATTEMPTS} times while the files in use were counted; no"
        " file was deleted.",
        remedy="Try again; CALL sys.remove_orphan_files removes unused files.",
    )

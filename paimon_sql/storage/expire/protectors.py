"""Who holds on to files: snapshots that stay, tags, and whatever the other branches of the table keep.

Branches share data files, manifests and indexes, so what one of them no longer needs another may. If a protector cannot
be read, nobody can say what it needs: then nothing may be removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.format.paths import MAIN_BRANCH
from paimon_sql.format.snapshot import Changelog, Snapshot
from paimon_sql.storage.changelogs import ChangelogManager
from paimon_sql.storage.expire.uses import UsedFiles, changelog_data, changelog_metadata
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.table import Table
from paimon_sql.storage.tags import NamedTag
from paimon_sql.storage.versioned import EARLIEST

Fingerprint = tuple[tuple[str, ...], tuple[FileStatus | None, ...]]


@dataclass(frozen=True)
class Protector:
    """A snapshot whose files stay.

    Attributes:
        what: what it is, for messages.
        snapshot: the snapshot.
        stands: whether it is still there: what vanished meanwhile needs no file any more.
        with_changelog: whether it needs the changelog of its commit too.
    """

    what: str
    snapshot: Snapshot
    stands: Callable[[], bool]
    with_changelog: bool = False


@dataclass(frozen=True)
class Uses:
    """What protectors need: names of data and changelog files, among those asked for, and of metadata files."""

    data: frozenset[str]
    metadata: frozenset[str]


def uses_of(
    table: Table, protectors: Sequence[Protector], changelogs: Iterable[Changelog], names: pa.Array | None
) -> Uses:
    """What protectors need.

    Args:
        table: the table.
        protectors: the snapshots.
        changelogs: changelogs that outlive their snapshots.
        names: the names of the data files that are asked for; None for all.

    Raises:
        PaimonError: a protector that is still there cannot be read.
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
            if protector.stands():
                raise PaimonError(
                    f"{table.name}: nothing was deleted, because what {protector.what} needs cannot be found out:"
                    f" {error.message}"
                ) from error
    for changelog in changelogs:
        data |= changelog_data(table, changelog)
        metadata |= changelog_metadata(table, changelog)
    return Uses(frozenset(data), frozenset(metadata))


def snapshot_protector(table: Table, snapshot: Snapshot, *, with_changelog: bool = False) -> Protector:
    """A snapshot that stays."""
    what = f"snapshot {snapshot.id}" + (f" of branch {table.branch}" if table.branch != MAIN_BRANCH else "")

    def stands() -> bool:
        earliest = table.snapshots.earliest_id()
        return earliest is not None and snapshot.id >= earliest and table.snapshots.exists(snapshot.id)

    return Protector(what, snapshot, stands, with_changelog)


def tag_protector(table: Table, tag: NamedTag) -> Protector:
    """A tag."""
    return Protector(f"tag '{tag.name}'", tag.snapshot, lambda: table.tags.exists(tag.name))


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


def branch_protectors(branch: Table) -> list[Protector]:
    """All that one branch keeps in snapshots and tags."""
    earliest = branch.snapshots.earliest_id() or 0
    kept = [s for s in branch.snapshots.all() if s.id >= earliest]
    tags = {t.snapshot.id: t for t in branch.tags.all()}
    for s in kept:
        tags.pop(s.id, None)
    return [
        *(snapshot_protector(branch, s, with_changelog=True) for s in kept),
        *(tag_protector(branch, t) for t in tags.values()),
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

"""References that retain files, and the files that they need.

References are snapshots, tags, and those of other branches, which share data files, manifests and indexes. If a
reference cannot be read, its files are unknown, and nothing may be deleted. If a reference vanished meanwhile, so are
the files of those after it for which it was read; then all are read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql import errors
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.refs.tags import NamedTag, commit_key
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

FILE_COLUMNS = ("partition", "bucket", "file_name", "file_size", "external_path", "extra_files", "file_source")
"""The manifest columns that an expiration needs of a data file."""
_FILES = pa.schema([MANIFEST_SCHEMA.field(name) for name in FILE_COLUMNS])
_NAMES = pa.schema([MANIFEST_SCHEMA.field("kind"), MANIFEST_SCHEMA.field("file_name")])
_THREADS = 8
_ATTEMPTS = 10
_PAUSE = 0.02

Fingerprint = tuple[tuple[str, ...], tuple[FileStatus | None, ...]]
Lists = dict[str, list[ManifestFileMeta] | None]
"""Manifest lists that were read, by name; None for a missing or corrupt one."""

A = TypeVar("A")
R = TypeVar("R")


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
            raise errors.CommitConflictError(f"{self.what} expired while its files were counted.", remedy="Try again.")
        return True


@dataclass(frozen=True)
class Uses:
    """The names of files that references need: data and changelog files, among those looked for, and metadata files."""

    data: frozenset[str]
    metadata: frozenset[str]

    def mask(self, entries: pa.Table) -> pa.ChunkedArray:
        """Return a mask of the manifest entries of used files."""
        return pc.is_in(entries["file_name"], value_set=pa.array(list(self.data), pa.string()))

    def without(self, entries: pa.Table) -> pa.Table:
        """Return the manifest entries of unused files."""
        return entries.filter(pc.invert(self.mask(entries)))


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
        except errors.MissingFileError as error:
            if not reference.has_vanished():
                raise errors.PaimonError(
                    f"{table.name}: nothing was deleted, because the files that {reference.what} needs cannot be"
                    f" determined: {error.message}"
                ) from error
    for changelog in changelogs:
        used.add_changelog(changelog, data, metadata)
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


def other_references(table: Table, begin: int, end: int) -> tuple[list[RetainedReference], list[Changelog]]:
    """Return the references that may need files of the snapshots ``[begin, end)``: tags and other branches."""
    branches = other_branches(table)
    tags = [reference_of_tag(table, t) for t in nearest_tags(table.tags.all(), begin, end)]
    others = [p for b in branches for p in references_of_branches(b)]
    return [*tags, *others], [c for b in branches for c in b.changelogs.all()]


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
        raise errors.CommitConflictError(f"All snapshots of {branch.name} expired while they were listed.")
    # After a rollback ids are reused, so a tag may refer to another commit with the same id.
    tags = {commit_key(t.snapshot): t for t in branch.tags.all()}
    for s in stored:
        tags.pop(commit_key(s), None)
    return [
        *(reference_of_snapshot(branch, s, with_changelog=True, speaks_for_later=False) for s in expiring),
        *(reference_of_snapshot(branch, s, with_changelog=True, speaks_for_later=s is stored[-1]) for s in stored),
        *(reference_of_tag(branch, t) for t in tags.values()),
    ]


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
        except (errors.CommitConflictError, errors.NoSuchSnapshotError):
            continue
        except errors.PaimonError as error:
            if isinstance(error.__cause__, errors.MissingFileError) and attempt < _ATTEMPTS - 1:
                continue  # possibly a concurrent expiration: the next attempt shows whether the file is lost
            raise
        if not matters(found) or fingerprint(table) == before:
            return found
    raise errors.CommitConflictError(
        f"{table.name}: snapshots, tags or branches changed {_ATTEMPTS} times while the files in use were counted; no"
        " file was deleted.",
        remedy="Try again; CALL sys.remove_orphan_files removes unused files.",
    )


class UsedFiles:
    """The files that snapshots use; every manifest list and manifest is read only once.

    Args:
        table: the table, any branch of it.
        names: the names of data files and extra files to look for; None for all.
    """

    def __init__(self, table: Table, names: pa.Array | None = None) -> None:
        self._table = table
        self._names = names
        self._lists: dict[str, list[ManifestFileMeta]] = {}
        self._entries: dict[str, pa.Table] = {}

    def prefetch(self, snapshots: Iterable[Snapshot]) -> None:
        """Read the manifest lists of snapshots in parallel; missing ones are reported when they are needed."""
        names = {n for s in snapshots for n in (s.base_manifest_list, s.delta_manifest_list, s.changelog_manifest_list)}
        self._lists.update(lists_that_are_left(self._table, names))

    def live(self, snapshot: Snapshot) -> set[str]:
        """Return the names of a snapshot's live data files and extra files, among those looked for.

        A file is live if it was added more often than deleted, on any level: to move to another level, or to get
        another index, it is deleted and added again.

        Raises:
            MissingFileError: a manifest is missing, so that the live files are unknown.
        """
        if self._names is not None and not len(self._names):
            return set()
        metas = self.manifests(snapshot)
        unknown = [m.file_name for m in metas if m.file_name not in self._entries]
        for name, entries in zip(unknown, _each(self._table, self._table.manifests.read, unknown), strict=True):
            self._entries[name] = self._filtered(entries)
        entries = pa.concat_tables([_NAMES.empty_table(), *(self._entries[m.file_name] for m in metas)])
        if not len(entries):
            return set()
        files = entries["file_name"].combine_chunks().dictionary_encode()
        sign = np.where(entries["kind"].to_numpy() == int(FileKind.ADD), 1, -1)
        counts = np.bincount(files.indices.to_numpy(), weights=sign)
        return set(files.dictionary.filter(pa.array(counts > 0)).to_pylist())

    def metadata(self, snapshot: Snapshot, *, changelog: bool = False) -> set[str]:
        """Return the names of the metadata files that a snapshot uses: lists, manifests, indexes and statistics.

        Args:
            snapshot: the snapshot.
            changelog: whether to include those of its changelog that exist: the snapshot of a tag may have outlived
                them.

        Raises:
            MissingFileError: one of them that lists others is missing.
        """
        names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        names.update(m.file_name for m in self.manifests(snapshot))
        if changelog and snapshot.changelog_manifest_list:
            lists = lists_that_are_left(self._table, [snapshot.changelog_manifest_list])
            names.update(lists, (m.file_name for metas in lists.values() for m in metas))
        names.update(e.file.file_name for e in index_entries(self._table, snapshot))
        names.update(filter(None, (snapshot.index_manifest, snapshot.statistics)))
        return names

    def add_changelog(self, changelog: Changelog, data: set[str], metadata: set[str]) -> None:
        """Add the names of the data files and the metadata files that a changelog needs.

        Its data files are its changelog files, otherwise the new rows of its commit. Files of compactions are not new
        rows; they expire with the snapshots.
        """
        own = changelog.changelog_manifest_list
        names = [own] if own else [changelog.base_manifest_list, changelog.delta_manifest_list]
        lists = lists_that_are_left(self._table, names)
        metadata.update(lists, (m.file_name for metas in lists.values() for m in metas))
        for entries in manifests_that_are_left(self._table, lists.get(own or changelog.delta_manifest_list, [])):
            added = with_kind(entries, FileKind.ADD)
            data.update(named_files(added if own else new_rows(added)).to_pylist())

    def manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """Return the manifests of a snapshot."""
        return [*self._list(snapshot.base_manifest_list), *self._list(snapshot.delta_manifest_list)]

    def _list(self, name: str) -> list[ManifestFileMeta]:
        if name not in self._lists:
            self._lists[name] = self._table.manifests.read_list(name)
        return self._lists[name]

    def _filtered(self, entries: pa.Table) -> pa.Table:
        owners = pc.list_parent_indices(entries["extra_files"].combine_chunks())
        kinds = entries["kind"].combine_chunks()
        names = pa.table([pa.concat_arrays([kinds, kinds.take(owners)]), named_files(entries)], schema=_NAMES)
        return names if self._names is None else names.filter(pc.is_in(names["file_name"], value_set=self._names))


def named_files(entries: pa.Table) -> pa.Array:
    """Return the names of data files, followed by those of their extra files, such as indexes."""
    extras = pc.list_flatten(entries["extra_files"].combine_chunks())
    return pa.concat_arrays([entries["file_name"].combine_chunks(), extras])


def file_names(parts: Iterable[pa.Table]) -> pa.Array:
    """Return the names of the data files in several tables of manifest entries."""
    return pa.chunked_array([c for part in parts for c in part["file_name"].chunks], pa.string()).combine_chunks()


def live_entries(table: Table, snapshot: Snapshot) -> pa.Table:
    """Return the entries of a snapshot's live files; none if a metadata file is missing, as then they are unknown."""
    used = UsedFiles(table)
    try:
        live = pa.array(list(used.live(snapshot)), pa.string())
        parts = _each(table, table.manifests.read, [m.file_name for m in used.manifests(snapshot)])
    except errors.UnsafePathError:
        raise  # crafted to have other files deleted
    except (errors.MissingFileError, errors.CorruptFileError):
        return MANIFEST_SCHEMA.empty_table()
    entries = pa.concat_tables([MANIFEST_SCHEMA.empty_table(), *parts])
    return entries.filter(pc.is_in(entries["file_name"], value_set=live))


def new_rows(entries: pa.Table) -> pa.Table:
    """Return the entries of files that were not written by compactions."""
    source = pc.fill_null(entries["file_source"], int(FileSource.APPEND))
    return entries.filter(pc.not_equal(source, int(FileSource.COMPACT)))


def with_kind(entries: pa.Table, kind: FileKind) -> pa.Table:
    """Return the entries that add, or those that delete."""
    return entries.filter(pc.equal(entries["kind"], int(kind)))


def lists_that_are_left(
    table: Table, names: Iterable[str | None], known: Lists | None = None
) -> dict[str, list[ManifestFileMeta]]:
    """Return the manifests of manifest lists, by list, without missing or corrupt lists.

    For files that are deleted anyway: an interrupted run has deleted some already, in an order that leaves no file only
    they refer to.

    Args:
        table: the table.
        names: the names of the lists.
        known: lists that were read before, which are not read again; those read now are added.
    """
    known, names = {} if known is None else known, list(names)
    unread = sorted({name for name in names if name and name not in known})
    found = _each(table, lambda name: if_left(table.manifests.read_list_once, name), unread)
    known.update(zip(unread, found, strict=True))
    existing = ((name, known[name]) for name in dict.fromkeys(names) if name)
    return {name: metas for name, metas in existing if metas is not None}


def manifests_that_are_left(table: Table, metas: Sequence[ManifestFileMeta]) -> list[pa.Table]:
    """Return the entries of manifests, with their kinds and `FILE_COLUMNS`, without missing or corrupt manifests."""
    found = _each(table, lambda meta: if_left(table.manifests.read_once, meta.file_name), metas)
    return [entries.select(["kind", *FILE_COLUMNS]) for entries in found if entries is not None]


def listed_files(
    table: Table, lists: Iterable[str | None], kinds: Sequence[FileKind] = tuple(FileKind), known: Lists | None = None
) -> pa.Table:
    """Return the distinct files of entries of these kinds in manifest lists, without those missing or corrupt.

    The arguments are those of `lists_that_are_left`; files have `FILE_COLUMNS`.
    """
    metas = {m.file_name: m for found in lists_that_are_left(table, lists, known).values() for m in found}
    entries = manifests_that_are_left(table, list(metas.values()))
    return distinct_files([with_kind(e, kind) for e in entries for kind in kinds])


def distinct_files(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the distinct files of manifest entries, by name and extra files, with `FILE_COLUMNS`."""
    table = pa.concat_tables([_FILES.empty_table(), *(part.select(list(FILE_COLUMNS)) for part in parts)])
    names = table["file_name"].combine_chunks()
    extras = pc.binary_join(table["extra_files"].combine_chunks(), "\0")
    codes = pc.binary_join_element_wise(names, extras, "\0").dictionary_encode().indices.to_numpy()
    first = np.unique(codes, return_index=True)[1]
    return table if len(first) == len(table) else table.take(pa.array(first))


def if_left(read: Callable[[A], R], item: A) -> R | None:
    """Return what is read of a file that is deleted anyway; None if it is missing or corrupt."""
    try:
        return read(item)
    except errors.UnsafePathError:
        raise
    except (errors.MissingFileError, errors.CorruptFileError):
        return None


def _each(table: Table, function: Callable[[A], R], items: Sequence[A]) -> list[R]:
    return map_in_threads(function, items, table.file_io.threads_for(table.path, len(items), _THREADS))

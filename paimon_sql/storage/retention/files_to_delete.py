"""Files to delete by kind, their deletion in an order that a crash may interrupt, and the plan of an expiration.

A data file is deleted if a commit after the first expired snapshot deleted it and no retained reference has it live; a
manifest, index or statistics file if an expired snapshot refers to it and no retained reference does. Retained
references are the first retained snapshot, tags, and other branches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial
from itertools import pairwise
from operator import add

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.format.options.operations.snapshot import SNAPSHOT_CLEAN_EMPTY_DIRECTORIES
from paimon_sql.format.options.operations.write import FILE_OPERATION_THREAD_NUM
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.base import refuse_links
from paimon_sql.storage.file_io.paths import name_of, parent_of
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention import retained_references as references
from paimon_sql.storage.retention.retained_references import Lists, Uses
from paimon_sql.storage.table.changelog_producer import changelog_producer
from paimon_sql.storage.table.data_file_paths import bucket_folders, data_file_paths, extra_file_paths
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.snapshot_history import is_built_on
from paimon_sql.storage.table.table import Table

_THREADS = 8
Sizes = dict[str, int]


@dataclass
class FilesToDelete:
    """Files to delete: sizes in bytes by path, 0 if unknown.

    Attributes:
        data: data files and their extra files.
        changelog: changelog files.
        manifests: manifests.
        lists: manifest lists and index manifests.
        indexes: index files.
        statistics: statistics files.
        folders: the bucket directories of the files.
    """

    data: Sizes = field(default_factory=dict)
    changelog: Sizes = field(default_factory=dict)
    manifests: Sizes = field(default_factory=dict)
    lists: Sizes = field(default_factory=dict)
    indexes: Sizes = field(default_factory=dict)
    statistics: Sizes = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def _kinds(self) -> tuple[Sizes, ...]:
        return (self.data, self.changelog, self.manifests, self.lists, self.indexes, self.statistics)

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(sum(kind.values()) for kind in self._kinds())

    @property
    def counts(self) -> FileCounts:
        """The numbers of files by kind."""
        return FileCounts(*[*map(len, self._kinds()), self.bytes])

    @property
    def count(self) -> int:
        """The number of all files."""
        return self.counts.count

    def add(self, other: FilesToDelete) -> None:
        """Add the files of another."""
        for mine, theirs in zip(self._kinds(), other._kinds(), strict=True):
            mine.update(theirs)
        self.folders |= other.folders

    def remove(self, other: FilesToDelete) -> None:
        """Remove the files of another."""
        for mine, theirs in zip(self._kinds(), other._kinds(), strict=True):
            for path in theirs:
                mine.pop(path, None)

    def add_files(self, table: Table, entries: pa.Table, *, changelog: bool = False) -> None:
        """Add the data files of manifest entries, or their changelog files."""
        if len(entries):
            (self.changelog if changelog else self.data).update(_paths(table, entries))
            self.folders.update(bucket_folders(table, entries).unique().to_pylist())

    def add_unused(self, table: Table, entries: pa.Table, uses: Uses) -> None:
        """Add the unused data files of manifest entries, and extra files that files in use no longer have."""
        unused = uses.without(entries)
        self.add_files(table, unused)
        if len(unused) < len(entries):
            extras = extra_file_paths(table, entries.filter(uses.mask(entries))).to_pylist()
            self.data.update((path, 0) for path in extras if name_of(path) not in uses.data)

    def add_manifests(self, table: Table, lists: Mapping[str, int], uses: Uses, known: Lists | None = None) -> None:
        """Add the unused ones of the manifest lists, given with their sizes, and of their manifests."""
        for meta in (m for metas in references.lists_that_are_left(table, lists, known).values() for m in metas):
            if meta.file_name not in uses.metadata:
                self.manifests[table.paths.manifest(meta.file_name)] = meta.file_size
        # An unreadable list is deleted as well.
        self.lists.update((table.paths.manifest(n), size) for n, size in lists.items() if n not in uses.metadata)

    def add_indexes(self, table: Table, snapshot: Snapshot, uses: Uses) -> None:
        """Add the unused ones of a snapshot's index manifest, index files and statistics."""
        manifest, statistics = snapshot.index_manifest, snapshot.statistics
        if manifest and manifest not in uses.metadata and (path := table.paths.manifest(manifest)) not in self.lists:
            entries = references.if_left(partial(index_entries, table), snapshot) or []
            unused = [e for e in entries if e.file.file_name not in uses.metadata]
            self.indexes.update((index_path(table, e), e.file.file_size) for e in unused)
            self.lists[path] = 0
        if statistics and statistics not in uses.metadata:
            self.statistics[table.paths.statistics(statistics)] = 0

    def delete(self, table: Table) -> None:
        """Delete the files; missing ones are ignored.

        Data files are deleted before the manifests that list them, and manifests before their lists, so that after a
        crash the remaining files can still be found.
        """
        delete_all(table, [*self.data, *self.changelog])
        if table.options.get(SNAPSHOT_CLEAN_EMPTY_DIRECTORIES) and self.folders:
            remove_empty_folders(table.file_io, self.folders, table.paths.data_root())
        delete_all(table, [*self.manifests, *self.indexes, *self.statistics])
        delete_all(table, list(self.lists))


@dataclass(frozen=True)
class FileCounts:
    """The numbers of deleted files by kind, as in `FilesToDelete`, and their size."""

    data: int = 0
    changelog: int = 0
    manifests: int = 0
    lists: int = 0
    indexes: int = 0
    statistics: int = 0
    bytes: int = 0

    @property
    def count(self) -> int:
        """The number of all files."""
        return self.data + self.changelog + self.manifests + self.lists + self.indexes + self.statistics

    def __add__(self, other: FileCounts) -> FileCounts:
        return FileCounts(*map(add, astuple(self), astuple(other)))


def delete_all(table: Table, paths: Sequence[str]) -> int:
    """Delete files, in parallel if that is faster; return how many existed."""
    refuse_links(table.file_io, paths, table.manifests.external_roots.root_of)
    threads = table.file_io.threads_for(table.path, len(paths), operation_threads(table))
    return table.file_io.delete_many(paths, threads)


def operation_threads(table: Table) -> int:
    """Return the max number of threads that list or delete files."""
    return table.options.get(FILE_OPERATION_THREAD_NUM) or _THREADS


def remove_empty_folders(file_io: FileIO, folders: Iterable[str], root: str) -> None:
    """Delete empty directories and their empty parents, but never ``root``."""
    candidates = set(folders)
    while candidates:
        removed = {directory for directory in candidates if file_io.delete_dir(directory)}
        parents = {parent_of(directory) for directory in removed}
        candidates = {directory for directory in parents if directory.startswith(f"{root}/")}


def _paths(table: Table, entries: pa.Table) -> Mapping[str, int]:
    main = dict(zip(data_file_paths(table, entries).to_pylist(), entries["file_size"].to_pylist(), strict=True))
    paths = {**main, **dict.fromkeys(extra_file_paths(table, entries).to_pylist(), 0)}
    refuse_links(table.file_io, paths, table.manifests.external_roots.root_of)  # before anything is changed
    return paths


_MAX_LATENESS_MILLIS = 24 * 60 * 60 * 1000
"""Max time that a writer may be suspended: the default min age of orphan files."""


def without_late_snapshots(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the snapshots, just read, whose files are not younger than that of the next one.

    Younger ones are late snapshots, which are left to their writers for up to a day.
    """
    if not _expired(table, snapshots):
        return list(snapshots)
    files = table.snapshots.directory.files()
    times = {number: status.mtime_millis for number, status in files.items()}
    oldest = current_millis() - _MAX_LATENESS_MILLIS

    def is_late(number: int) -> bool:
        time = times.get(number, 0)
        following = next((times[i] for i in sorted(times) if i > number), time)
        return time > max(following, oldest)

    late = {s.id for s in _expired(table, snapshots) if is_late(s.id)}
    return [s for s in snapshots if s.id not in late]


def added_by(table: Table, snapshot: Snapshot) -> pa.Array:
    """Return the names of the data files that a snapshot added, without those of missing manifests."""
    try:
        delta = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
        entries = table.manifests.read_all(delta)
    except MissingFileError:  # a concurrent expiration
        entries = []
    return references.file_names(references.with_kind(e, FileKind.ADD) for e in entries)


def _expired(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the snapshots before the EARLIEST hint, read after them: it moves before an id becomes free."""
    earliest = table.snapshots.directory.hint(EARLIEST) or 0
    return [s for s in snapshots if s.id < earliest]


def _was_built_upon(table: Table, snapshot: Snapshot, seen: SnapshotView) -> bool:
    if (following := seen.find(snapshot.id + 1)) is not None:
        with suppress(MissingFileError):
            return bool(is_built_on(table, following, snapshot, lambda: added_by(table, snapshot)))
    return False


@dataclass(frozen=True)
class ExpirationPlan:
    """The snapshots to expire, and the files to delete with them.

    Attributes:
        snapshots: the snapshots, ordered by id.
        end: the first retained snapshot.
        files: the files that are no longer used.
        keeps_changelog: whether changelogs outlive their snapshots.
        late: the ids of possibly late snapshots: their own files are retained, and they are not part of the history.
    """

    snapshots: tuple[Snapshot, ...]
    end: Snapshot
    files: FilesToDelete = field(default_factory=FilesToDelete)
    keeps_changelog: bool = False
    late: frozenset[int] = frozenset()


def plan_expiry(
    table: Table, seen: SnapshotView, ids: Sequence[int], retained: Sequence[int], *, keeps_changelog: bool
) -> ExpirationPlan:
    """Plan the expiration of the oldest snapshots of a table.

    Args:
        table: the table.
        seen: the snapshots of the table.
        ids: the snapshots to expire, ascending.
        retained: all retained snapshots, ascending; in both ids may be missing, if snapshots were deleted manually.
        keeps_changelog: whether changelogs outlive their snapshots.

    Raises:
        PaimonError: a retained reference cannot be read; nothing may be deleted.
    """
    expired = without_late_snapshots(table, _existing(seen, ids))
    end = seen.get(retained[0])
    if not expired:
        return ExpirationPlan((), end)
    produces = changelog_producer(table.options).produces
    read_lists: Lists = {}
    late = frozenset(s.id for s in _expired(table, expired) if not _was_built_upon(table, s, seen))
    deleted = _deleted_files(table, [*expired, end], read_lists, late)
    if keeps_changelog and not produces:
        # Without a changelog producer, level 0 files are the changelog.
        deleted = deleted.filter(pc.equal(pc.fill_null(deleted["file_source"], 0), int(FileSource.COMPACT)))
    # What is live in a later snapshot is live in the first retained one, or was added later, unless ids are missing.
    # The newest is always checked: a writer may have built it on a history that a rollback has removed since.
    checked = {retained[-1], *(b for a, b in pairwise(retained) if b != a + 1)} - {end.id}
    own = [references.reference_of_snapshot(table, s) for s in (end, *_existing(seen, sorted(checked)))]
    elsewhere, changelogs = references.other_references(table, expired[0].id, end.id)
    if not keeps_changelog:
        # Changelogs of a time when they outlived snapshots still need their files.
        changelogs = [*table.changelogs.all(), *changelogs]
    uses = references.uses_of(table, [*own, *elsewhere], changelogs, references.named_files(deleted))
    files = FilesToDelete()
    files.add_unused(table, deleted, uses)
    lists: dict[str, int] = {}
    if not keeps_changelog:
        in_history = [s.changelog_manifest_list for s in expired if s.id not in late]
        unused_lists = [name for name in in_history if name not in uses.metadata]
        changelog = references.listed_files(table, unused_lists, [FileKind.ADD], read_lists)
        files.add_files(table, uses.without(changelog), changelog=True)
        lists |= sizes_of_lists(expired, changelog=True)
    if produces or not keeps_changelog:
        lists |= sizes_of_lists(expired)
    files.add_manifests(table, lists, uses, read_lists)
    for s in expired:
        if s.id not in late:
            files.add_indexes(table, s, uses)
    return ExpirationPlan(tuple(expired), end, files, keeps_changelog, late)


def sizes_of_lists(snapshots: Iterable[Changelog], *, changelog: bool = False) -> dict[str, int]:
    """Return the sizes of the base and delta manifest lists of snapshots, or of changelog lists; 0 if unknown."""
    sizes: dict[str | None, int | None] = {}
    for s in snapshots:
        if changelog:
            sizes[s.changelog_manifest_list] = s.changelog_manifest_list_size
        else:
            sizes[s.base_manifest_list] = s.base_manifest_list_size
            sizes[s.delta_manifest_list] = s.delta_manifest_list_size
    return {name: size or 0 for name, size in sizes.items() if name}


def _existing(seen: SnapshotView, ids: Iterable[int]) -> list[Snapshot]:
    """Return the snapshots that have not expired concurrently."""
    return [found for i in ids if (found := seen.find(i)) is not None]


def _deleted_files(table: Table, chain: Sequence[Snapshot], read_lists: Lists, late: Collection[int]) -> pa.Table:
    """Return the files that the commits of a chain deleted from its first snapshot, each once.

    Files that possibly late snapshots added themselves are not included.
    """
    deltas = references.lists_that_are_left(table, [s.delta_manifest_list for s in chain[1:]], read_lists)
    metas = [m for found in deltas.values() for m in found if m.num_deleted_files > 0]
    entries = references.manifests_that_are_left(table, metas)
    deleted = [references.with_kind(e, FileKind.DELETE) for e in entries]
    # Deletions of missing snapshots are unknown: include all live files of the snapshot before.
    for a in (a for a, b in pairwise(chain) if b.id != a.id + 1):
        live = references.live_entries(table, a)
        added = added_by(table, a) if a.id in late else pa.array([], pa.string())
        deleted.append(live.filter(pc.invert(pc.is_in(live["file_name"], value_set=added))))
    return references.distinct_files(deleted)

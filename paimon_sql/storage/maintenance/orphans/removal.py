"""Search and removal of orphan files: candidates, usage scan, deletion by directory.

Candidates are listed before the usage scan, which is repeated before files are deleted: files that are committed in
between are found in use. The scan finds which candidates are in use by snapshots, tags and changelogs of any branch.
Anything unreadable aborts it, unless its reference has vanished meanwhile, as otherwise its files are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, MissingFileError, PaimonError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes, name_hashes, places
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans import candidates
from paimon_sql.storage.maintenance.orphans.candidates import CandidateFilter, Folder, FolderKind, Search, is_temporary
from paimon_sql.storage.retention import retained_references as references
from paimon_sql.storage.retention.files_to_delete import operation_threads, remove_empty_folders
from paimon_sql.storage.retention.retained_references import RetainedReference, retry_on_concurrent_change
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

SHOWN = 5
"""Max number of reported paths."""
_MIN_DIRECTORIES = 4


@dataclass
class Removed:
    """The deleted files, in a dry run those to delete.

    Attributes:
        data: the number of data and changelog files.
        metadata: the number of manifests, index files and statistics.
        temporary: the number of temporary files.
        bytes: their size.
        directories: the number of empty directories that were deleted.
        shown: the paths of the first few files.
    """

    data: int = 0
    metadata: int = 0
    temporary: int = 0
    bytes: int = 0
    directories: int = 0
    shown: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of all files."""
        return self.data + self.metadata + self.temporary

    def take(self, other: Removed) -> None:
        """Add the files of another."""
        self.data += other.data
        self.metadata += other.metadata
        self.temporary += other.temporary
        self.bytes += other.bytes
        self.directories += other.directories
        self.shown = [*self.shown, *other.shown][:SHOWN]

    def add(self, folder: Folder, file: FileStatus) -> None:
        """Add one file."""
        self.temporary += is_temporary(file.name)
        self.data += folder.kind is FolderKind.DATA and not is_temporary(file.name)
        self.metadata += folder.kind is not FolderKind.DATA and not is_temporary(file.name)
        self.bytes += file.size
        if len(self.shown) < SHOWN:
            self.shown.append(file.path)


@dataclass(frozen=True)
class RemoveTask:
    """Directories in which one worker deletes candidates with one of these name hashes, which are sorted."""

    file_io: FileIO
    picker: CandidateFilter
    directories: tuple[Folder, ...]
    orphans: Hashes
    threads: int
    dry_run: bool

    @property
    def size(self) -> int:
        """The weight of the task, in bytes."""
        return max(len(self.directories), len(self.orphans)) * candidates.FOLDER_SIZE

    def run(self) -> Removed:
        """Delete the files; in a dry run only count them. Candidates are selected once more: files may have changed."""
        removed, paths = Removed(), []
        for folder in self.directories:
            picked, _ = self.picker.pick(folder, candidates.files_in(self.file_io, folder)[0])
            positions = places(self.orphans, name_hashes([f.name for f in picked]))
            for file in (f for f, position in zip(picked, positions.tolist(), strict=True) if position >= 0):
                removed.add(folder, file)
                paths.append(file.path)
        if not self.dry_run:
            self.file_io.delete_many(paths, self.threads)
        return removed


def remove_folders(
    file_io: FileIO,
    picker: CandidateFilter,
    folders: Iterable[Folder],
    emptied: Iterable[Folder],
) -> int:
    """Delete empty directories of buckets, and of partitions above them; return the number of bucket directories.

    Args:
        file_io: the file system.
        picker: has the min age of a directory.
        folders: directories that were empty.
        emptied: directories from which files were deleted, whatever their age.
    """

    def is_old(folder: Folder) -> bool:
        status = file_io.status(folder.path)
        return status is not None and status.mtime_millis < picker.older_than_millis

    directories = [f for f in folders if f.kind is FolderKind.DATA and is_old(f)]
    directories += [f for f in emptied if f.kind is FolderKind.DATA]
    for root in {f.root for f in directories}:
        remove_empty_folders(file_io, {f.path for f in directories if f.root == root}, root)
    return sum(not file_io.exists(f.path) for f in directories)


@dataclass(frozen=True)
class OrphanPlan:
    """The orphan files of a table.

    Attributes:
        picker: selects candidates.
        directories: the directories of the table.
        listed: their content.
        usage_scan: finds which candidates are used.
        orphans: the sorted name hashes of unused candidates.
    """

    picker: CandidateFilter
    directories: tuple[Folder, ...]
    listed: candidates.Listed
    usage_scan: UsageScan
    orphans: Hashes


def find_orphans(table: Table, search: Search) -> OrphanPlan:
    """Find the unused files of a table, in any branch.

    Memory: about 20 bytes per candidate, and 9 per manifest entry of one.

    Raises:
        PaimonError: a retained reference cannot be read.
    """
    main = replace(table, branch=MAIN_BRANCH)
    threads = operation_threads(table)
    branches = [main, *references.other_branches(main)]
    picker = CandidateFilter.of(branches, search.older_than_millis)
    external = [root for root in candidates.external_roots(branches) if root not in search.foreign]
    folders = tuple(candidates.folders_of(main, branches, external, threads))
    listed = candidates.list_candidates(table.file_io, picker, folders, search, threads)
    usage_scan = UsageScan(main, np.unique(listed.hashes), search, threads)
    return OrphanPlan(picker, folders, listed, usage_scan, _unused(main, usage_scan))


def remove_orphans(plan: OrphanPlan, *, dry_run: bool = False) -> Removed:
    """Delete the orphan files that are still unused.

    Args:
        plan: the orphan files.
        dry_run: only count.

    Raises:
        PaimonError: a retained reference cannot be read; nothing was deleted.
    """
    table, search, listed = plan.usage_scan.table, plan.usage_scan.search, plan.listed
    orphans = plan.orphans
    if len(orphans) and not dry_run:
        orphans = np.intersect1d(orphans, _unused(table, plan.usage_scan))
    removed, chosen = Removed(), []
    if len(orphans):
        is_orphan = np.isin(listed.hashes, orphans)
        order = np.argsort(listed.directories[is_orphan], kind="stable")
        indexes, hashes = listed.directories[is_orphan][order], listed.hashes[is_orphan][order]
        starts = np.flatnonzero(np.diff(indexes, prepend=-1))
        parts = np.split(hashes, starts[1:])
        chosen = [(plan.directories[indexes[at]], part) for at, part in zip(starts, parts, strict=True)]

        def task_of(part: Sequence[tuple[Folder, Hashes]]) -> RemoveTask:
            hashes = np.unique(np.concatenate([hashes for _, hashes in part]))
            folders = tuple(folder for folder, _ in part)
            return RemoveTask(table.file_io, plan.picker, folders, hashes, plan.usage_scan.threads, dry_run)

        for one in search.executor.run_shares(chosen, task_of, _MIN_DIRECTORIES, search.parallelism):
            removed.take(one)
    if not dry_run:
        empty = [plan.directories[at] for at in listed.empty]
        removed.directories = remove_folders(table.file_io, plan.picker, empty, [folder for folder, _ in chosen])
        table.branches.sweep(search.older_than_millis)
    return removed


def _unused(table: Table, usage_scan: UsageScan) -> Hashes:
    """Return the unused candidates; tags and branches must not change meanwhile."""

    def used() -> Flags:
        return usage_scan.used([table, *references.other_branches(table)])

    try:
        return usage_scan.candidates[~retry_on_concurrent_change(table, used)]
    except CommitConflictError:
        raise
    except PaimonError as error:
        raise PaimonError(
            f"{table.name}: the files in use cannot be determined, so no file was deleted: {error.message}",
            remedy=error.remedy,
        ) from error


COMES, MOVES, GOES = 1, 2, -1
_MIN_MANIFESTS = 8

Flags = npt.NDArray[np.bool_]


Named = tuple[Hashes, npt.NDArray[np.int8]]
"""The entries of a manifest: name hashes, and `COMES`, `MOVES` (added by a compaction) or `GOES`."""


@dataclass(frozen=True)
class ReadTask:
    """Manifests for one worker to read: names, and total size in bytes."""

    table: Table
    names: tuple[str, ...]
    size: int
    threads: int

    def run(self) -> list[tuple[str, Named | None]]:
        """Return the entries of each manifest, None for a missing one."""
        return map_in_threads(lambda name: (name, _named(self.table, name)), self.names, self.threads)


@dataclass(frozen=True)
class NamedCandidates:
    """The entries of a manifest that are candidates, by their positions among the candidates."""

    places: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int8]


@dataclass(frozen=True)
class Needs:
    """Files that a reference needs: manifests of live files, changelogs and new rows, and metadata files by name."""

    data: Sequence[ManifestFileMeta] = ()
    changelog: Sequence[ManifestFileMeta] = ()
    rows: Sequence[ManifestFileMeta] = ()
    names: frozenset[str] = frozenset()


@dataclass
class UsageScan:
    """Finds the used candidates; when it is repeated, nothing is read twice.

    Args:
        table: the table.
        candidates: sorted distinct hashes of file names.
        search: runs the tasks that read manifests.
        threads: the number of threads per task.
    """

    table: Table
    candidates: Hashes
    search: Search
    threads: int
    _manifests: dict[str, NamedCandidates | None] = field(default_factory=dict)
    _indexes: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def manifests_read(self) -> int:
        """The number of manifests read."""
        return len(self._manifests)

    def used(self, branches: Sequence[Table]) -> Flags:
        """Return a mask of the used candidates.

        Args:
            branches: the table on each of its branches.

        Raises:
            PaimonError: a retained reference cannot be read.
        """
        flags = np.zeros(len(self.candidates), np.bool_)
        if not len(self.candidates):
            return flags
        for branch in branches:
            _check_history(branch)
        holders = [p for b in branches for p in references.references_of_branches(b, with_expiring=True)]
        needs = map_in_threads(self._needs, holders, self.threads)
        outliving = [c for b in branches for c in b.changelogs.all()]
        changelogs = map_in_threads(self._needs_of_changelog, outliving, self.threads)
        self._read(m for n in (*needs, *changelogs) if n for m in (*n.data, *n.changelog, *n.rows))
        for need in (*needs, *changelogs):
            if need is not None:
                positions = places(self.candidates, name_hashes(sorted(need.names)))
                flags[positions[positions >= 0]] = True
                self._mark_added(flags, need.changelog, (COMES, MOVES))
                self._mark_added(flags, need.rows, (COMES,))
        self._mark_live(flags, [(p, n) for p, n in zip(holders, needs, strict=True) if n is not None])
        return flags

    def _needs(self, reference: RetainedReference) -> Needs | None:
        """Return what a snapshot needs; None if it has vanished."""
        snapshot, lists = reference.snapshot, self.table.manifests
        names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        try:
            data = [*lists.read_list(snapshot.base_manifest_list), *lists.read_list(snapshot.delta_manifest_list)]
            names |= self._index_names(snapshot)
        except MissingFileError as error:
            self._check_vanished(reference, error.path)
            return None
        changelog_list = snapshot.changelog_manifest_list if reference.with_changelog else None
        changelog = self._listed(changelog_list)
        names.update(filter(None, (changelog_list, snapshot.statistics)))
        return Needs(data, changelog, names=frozenset(names).union(m.file_name for m in (*data, *changelog)))

    def _needs_of_changelog(self, changelog: Changelog) -> Needs:
        """Return what a changelog needs: its changelog files, otherwise the new rows of its commit."""
        changelog_list = changelog.changelog_manifest_list
        if changelog_list:
            metas = self._listed(changelog_list)
            return Needs(changelog=metas, names=frozenset({changelog_list, *(m.file_name for m in metas)}))
        lists = (changelog.base_manifest_list, changelog.delta_manifest_list)
        base, delta = map(self._listed, lists)
        return Needs(rows=delta, names=frozenset(lists).union(m.file_name for m in (*base, *delta)))

    def _listed(self, name: str | None) -> list[ManifestFileMeta]:
        """Return a list's manifests; none if it is missing: a snapshot restored from a tag outlives its changelog."""
        try:
            return self.table.manifests.read_list(name)
        except MissingFileError:
            return []

    def _index_names(self, snapshot: Snapshot) -> frozenset[str]:
        manifest = snapshot.index_manifest
        if manifest is None:
            return frozenset()
        if manifest not in self._indexes:
            files = (e.file.file_name for e in index_entries(self.table, snapshot))
            self._indexes[manifest] = frozenset({manifest, *files})
        return self._indexes[manifest]

    def _read(self, metas: Iterable[ManifestFileMeta]) -> None:
        sizes = {m.file_name: m.file_size for m in metas if m.file_name not in self._manifests}

        def task_of(names: Sequence[str]) -> ReadTask:
            return ReadTask(self.table, tuple(names), sum(sizes[n] for n in names), self.threads)

        for found in self.search.executor.run_shares(list(sizes), task_of, _MIN_MANIFESTS, self.search.parallelism):
            self._manifests.update((name, self._among_candidates(named)) for name, named in found)

    def _among_candidates(self, named: Named | None) -> NamedCandidates | None:
        if named is None:
            return None
        hashes, kinds = named
        positions = places(self.candidates, hashes)
        return NamedCandidates(positions[positions >= 0], kinds[positions >= 0])

    def _mark_added(self, flags: Flags, manifests: Sequence[ManifestFileMeta], kinds: Sequence[int]) -> None:
        for meta in manifests:
            named = self._manifests[meta.file_name]
            if named is not None:
                flags[named.places[np.isin(named.kinds, kinds)]] = True

    def _mark_live(self, flags: Flags, needs: Sequence[tuple[RetainedReference, Needs]]) -> None:
        """Mark what is live in any snapshot: added more often than deleted by its manifests.

        Consecutive snapshots differ little, so only the manifests in which they differ are counted.
        """
        counts = np.zeros(len(self.candidates), np.int32)
        counted: set[str] = set()
        for reference, need in needs:
            current = {m.file_name for m in need.data}
            missing = next((name for name in current if self._manifests[name] is None), None)
            if missing is not None:
                self._check_vanished(reference, self.table.manifests.path(missing))
                continue
            for name in counted ^ current:
                named = self._manifests[name]
                if named is not None:
                    np.add.at(counts, named.places, np.sign(named.kinds) if name in current else -np.sign(named.kinds))
            counted = current
            flags |= counts > 0

    def _check_vanished(self, reference: RetainedReference, path: str) -> None:
        """Check that a reference with a missing file has vanished."""
        if not reference.has_vanished():
            raise MissingFileError(
                f"{reference.what} needs {path}, which is missing.",
                path=path,
                remedy="Restore the file from a copy, or delete what needs it.",
            )


def _named(table: Table, name: str) -> Named | None:
    try:  # uncached: cached content of a broken file proves nothing
        entries = table.manifests.read_uncached(name)
    except MissingFileError:
        return None
    compacted = pc.equal(pc.fill_null(entries["file_source"], int(FileSource.APPEND)), int(FileSource.COMPACT))
    added = np.where(compacted.to_numpy(), MOVES, COMES)
    kinds = np.where(entries["kind"].to_numpy() == int(FileKind.ADD), added, GOES).astype(np.int8)
    owners = pc.list_parent_indices(entries["extra_files"].combine_chunks()).to_numpy()
    return name_hashes(references.named_files(entries)), np.concatenate([kinds, kinds[owners]])


def _check_history(branch: Table) -> None:
    """Check that no snapshot is missing, as the files that only it needs would be taken for orphans."""
    missing = branch.snapshots.directory.missing()
    if missing and branch.snapshots.directory.missing() == missing:
        path = branch.snapshots.directory.path(missing[0].start)
        if branch.snapshots.late_snapshots():
            raise MissingFileError(
                f"{path} is missing: a rollback was not completed.", path=path, remedy="CALL sys.repair."
            )
        later = next((i for i in branch.snapshots.directory.versions() if i >= missing[-1].stop), None)
        goes_on = "" if later is None else f", or CALL sys.repair_earliest_snapshot(.., snapshot_id => {later})"
        raise MissingFileError(
            f"{path} is missing, so the files that it needs are unknown.",
            path=path,
            remedy=f"Restore the file from a copy{goes_on}.",
        )

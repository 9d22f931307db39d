"""Search and removal of orphan files: candidates, usage scan, deletion by directory.

Candidates are listed before the usage scan, which is repeated before files are deleted: files that are committed in
between are found in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from paimon_sql.errors import CommitConflictError, PaimonError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes, name_hashes, places
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans import candidates
from paimon_sql.storage.maintenance.orphans.candidates import CandidateFilter, Folder, FolderKind, Search, is_temporary
from paimon_sql.storage.maintenance.orphans.usage_scan import Flags, UsageScan
from paimon_sql.storage.retention.files_to_delete import operation_threads, remove_empty_folders
from paimon_sql.storage.retention.retained_references import other_branches, retry_on_concurrent_change
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
        table: the table.
        search: the parameters of the search.
        picker: selects candidates.
        directories: the directories of the table.
        listed: their content.
        usage_scan: finds which candidates are used.
        orphans: the sorted name hashes of unused candidates.
    """

    table: Table
    search: Search
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
    branches = [main, *other_branches(main)]
    picker = CandidateFilter.of(branches, search.older_than_millis)
    external = [root for root in candidates.external_roots(branches) if root not in search.foreign]
    folders = tuple(candidates.folders_of(main, branches, external, threads))
    listed = candidates.list_candidates(table.file_io, picker, folders, search, threads)
    usage_scan = UsageScan(main, np.unique(listed.hashes), search, threads)
    return OrphanPlan(main, search, picker, folders, listed, usage_scan, _unused(main, usage_scan))


def remove_orphans(plan: OrphanPlan, *, dry_run: bool = False) -> Removed:
    """Delete the orphan files that are still unused.

    Args:
        plan: the orphan files.
        dry_run: only count.

    Raises:
        PaimonError: a retained reference cannot be read; nothing was deleted.
    """
    table, search, listed = plan.table, plan.search, plan.listed
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

        for one in search.run(chosen, _MIN_DIRECTORIES, task_of):
            removed.take(one)
    if not dry_run:
        empty = [plan.directories[at] for at in listed.empty]
        removed.directories = remove_folders(table.file_io, plan.picker, empty, [folder for folder, _ in chosen])
        table.branches.sweep(search.older_than_millis)
    return removed


def _unused(table: Table, usage_scan: UsageScan) -> Hashes:
    """Return the unused candidates; tags and branches must not change meanwhile."""

    def used() -> Flags:
        return usage_scan.used([table, *other_branches(table)])

    try:
        return usage_scan.candidates[~retry_on_concurrent_change(table, used)]
    except CommitConflictError:
        raise
    except PaimonError as error:
        raise PaimonError(
            f"{table.name}: the files in use cannot be determined, so no file was deleted: {error.message}",
            remedy=error.remedy,
        ) from error

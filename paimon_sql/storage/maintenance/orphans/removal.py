"""Deletion of orphan files, by directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import items_per_task
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes, name_hashes, places
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans.candidates import FOLDER_SIZE, CandidateFilter
from paimon_sql.storage.maintenance.orphans.folders import Folder, files_in
from paimon_sql.storage.maintenance.orphans.names import FolderKind, is_temporary
from paimon_sql.storage.retention.files_to_delete import remove_empty_folders

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
        return max(len(self.directories), len(self.orphans)) * FOLDER_SIZE


def remove_files(
    file_io: FileIO,
    picker: CandidateFilter,
    folders: Sequence[tuple[Folder, Hashes]],
    executor: Executor,
    tasks: int | None,
    threads: int,
    *,
    dry_run: bool,
) -> Removed:
    """Delete orphan files.

    Args:
        file_io: the file system.
        picker: selects candidates, once more, as files may have been modified meanwhile.
        folders: the directories, each with the name hashes of its orphans.
        executor: runs the tasks.
        tasks: the number of tasks; by default by weight.
        threads: the number of threads per task.
        dry_run: only count.
    """
    step = items_per_task(len(folders), tasks, _MIN_DIRECTORIES)
    plan = []
    for at in range(0, len(folders), step):
        part = folders[at : at + step]
        orphans = np.unique(np.concatenate([hashes for _, hashes in part]))
        plan.append(RemoveTask(file_io, picker, tuple(f for f, _ in part), orphans, threads, dry_run))
    removed = Removed()
    for one in executor.map(remove_from_folders, plan):
        removed.take(one)
    return removed


def remove_from_folders(task: RemoveTask) -> Removed:
    """Run a task."""
    removed, paths = Removed(), []
    for folder in task.directories:
        picked, _ = task.picker.pick(folder, files_in(task.file_io, folder)[0])
        positions = places(task.orphans, name_hashes([f.name for f in picked]))
        orphans = [f for f, position in zip(picked, positions.tolist(), strict=True) if position >= 0]
        for file in orphans:
            removed.add(folder, file)
        paths += [f.path for f in orphans]
    if not task.dry_run:
        task.file_io.delete_many(paths, task.threads)
    return removed


def remove_folders(
    file_io: FileIO, picker: CandidateFilter, folders: Iterable[Folder], emptied: Iterable[Folder]
) -> int:
    """Delete empty directories of buckets, and of partitions above them; return the number of bucket directories.

    Args:
        file_io: the file system.
        picker: has the min age of a directory.
        folders: directories that were empty.
        emptied: directories from which files were deleted, whatever their age.
    """
    directories = [f for f in folders if f.kind is FolderKind.DATA and _is_old(file_io, picker, f)]
    directories += [f for f in emptied if f.kind is FolderKind.DATA]
    for root in {f.root for f in directories}:
        remove_empty_folders(file_io, {f.path for f in directories if f.root == root}, root)
    return sum(not file_io.exists(f.path) for f in directories)


def _is_old(file_io: FileIO, picker: CandidateFilter, folder: Folder) -> bool:
    status = file_io.status(folder.path)
    return status is not None and status.mtime_millis < picker.older_than_millis

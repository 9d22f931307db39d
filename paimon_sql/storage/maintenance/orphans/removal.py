"""The removal of files that nobody uses, by folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import share
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes, name_hashes, places
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans.candidates import FOLDER_SIZE, Picker
from paimon_sql.storage.maintenance.orphans.folders import Folder, files_in
from paimon_sql.storage.maintenance.orphans.names import FolderKind, is_temporary
from paimon_sql.storage.retention.files_to_delete import remove_empty_folders

SHOWN = 5
"""How many paths are told."""
_LEAST_FOLDERS = 4


@dataclass
class Removed:
    """Files that were removed, or would be.

    Attributes:
        data: how many data and changelog files.
        metadata: how many manifests, index files and statistics.
        temporary: how many files that were to become others.
        bytes: their bytes.
        folders: how many folders were removed since they were empty.
        shown: the paths of the first few files.
    """

    data: int = 0
    metadata: int = 0
    temporary: int = 0
    bytes: int = 0
    folders: int = 0
    shown: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of all files."""
        return self.data + self.metadata + self.temporary

    def take(self, other: Removed) -> None:
        """Add what was removed elsewhere."""
        self.data += other.data
        self.metadata += other.metadata
        self.temporary += other.temporary
        self.bytes += other.bytes
        self.folders += other.folders
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
    """Folders from which one worker removes the files whose names have one of some hashes, sorted."""

    file_io: FileIO
    picker: Picker
    folders: tuple[Folder, ...]
    orphans: Hashes
    threads: int
    dry_run: bool

    @property
    def size(self) -> int:
        """What the work is worth, in bytes."""
        return max(len(self.folders), len(self.orphans)) * FOLDER_SIZE


def remove_files(
    file_io: FileIO,
    picker: Picker,
    folders: Sequence[tuple[Folder, Hashes]],
    executor: Executor,
    tasks: int | None,
    threads: int,
    *,
    dry_run: bool,
) -> Removed:
    """Remove files from folders.

    Args:
        file_io: the file system.
        picker: tells what may go at all; it is asked again, as a file may have been changed meanwhile.
        folders: the folders, each with the hashes of names that are to go.
        executor: runs the tasks.
        tasks: how many tasks there are; as many as are worth it by default.
        threads: how many threads each task uses.
        dry_run: only look.
    """
    step = share(len(folders), tasks, _LEAST_FOLDERS)
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
    """Do one task."""
    removed, doomed = Removed(), []
    for folder in task.folders:
        picked, _ = task.picker.pick(folder, files_in(task.file_io, folder)[0])
        at = places(task.orphans, name_hashes([f.name for f in picked]))
        going = [f for f, place in zip(picked, at.tolist(), strict=True) if place >= 0]
        for file in going:
            removed.add(folder, file)
        doomed += [f.path for f in going]
    if not task.dry_run:
        task.file_io.delete_many(doomed, task.threads)
    return removed


def remove_folders(file_io: FileIO, picker: Picker, folders: Iterable[Folder], emptied: Iterable[Folder]) -> int:
    """Remove empty folders of buckets and of the partitions above them: how many buckets' folders went.

    Args:
        file_io: the file system.
        picker: how old a folder must be.
        folders: folders that were found empty.
        emptied: folders from which files were removed, whatever their age.
    """
    going = [f for f in folders if f.kind is FolderKind.DATA and _is_old(file_io, picker, f)]
    going += [f for f in emptied if f.kind is FolderKind.DATA]
    for root in {f.root for f in going}:
        remove_empty_folders(file_io, {f.path for f in going if f.root == root}, root)
    return sum(not file_io.exists(f.path) for f in going)


def _is_old(file_io: FileIO, picker: Picker, folder: Folder) -> bool:
    status = file_io.status(folder.path)
    return status is not None and status.mtime_millis < picker.older_than_millis

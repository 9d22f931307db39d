"""Candidates: old files with names of writers, which are orphans unless they are used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import items_per_task
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.kernels.name_hashes import NO_HASHES, Hashes, name_hashes
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans.folders import Folder, files_in
from paimon_sql.storage.maintenance.orphans.names import FolderKind, WriterNames, is_packed, is_temporary

FOLDER_SIZE = 64 * 1024
"""The weight of listing a directory, in bytes, by which an engine decides where tasks run."""
_MIN_DIRECTORIES = 16
_NO_DIRECTORIES = np.empty(0, np.int32)


@dataclass(frozen=True)
class CandidateFilter:
    """Selects the candidates of a directory.

    Attributes:
        names: the names that writers of the table give.
        older_than_millis: files modified at this time or later are no candidates, in milliseconds since the epoch.
    """

    names: WriterNames
    older_than_millis: int

    def pick(self, folder: Folder, files: Sequence[FileStatus]) -> tuple[list[FileStatus], int]:
        """Return the candidates, and the number of old files with other names."""
        pattern = self.names.pattern(folder.kind)
        old = [f for f in files if f.mtime_millis < self.older_than_millis]
        picked = [f for f in old if _is_ours(pattern, f.name)]
        strange = 0 if folder.kind is FolderKind.NUMBERED else len(old) - len(picked)
        return picked, strange


@dataclass(frozen=True)
class ListTask:
    """Directories for one worker to list; ``first`` is the index of the first among all."""

    file_io: FileIO
    picker: CandidateFilter
    first: int
    directories: tuple[Folder, ...]
    threads: int

    @property
    def size(self) -> int:
        """The weight of the task, in bytes."""
        return len(self.directories) * FOLDER_SIZE


@dataclass(frozen=True)
class Listed:
    """The content of directories: candidates by name hash and index of their directory.

    Attributes:
        hashes: one name hash per candidate.
        directories: the index of each candidate's directory.
        files: the number of files, old or not.
        strange: the number of old files with other names.
        empty: the indexes of empty directories.
    """

    hashes: Hashes
    directories: npt.NDArray[np.int32]
    files: int
    strange: int
    empty: tuple[int, ...]


def list_candidates(
    file_io: FileIO,
    picker: CandidateFilter,
    folders: Sequence[Folder],
    executor: Executor,
    tasks: int | None,
    threads: int,
) -> Listed:
    """List the candidates in directories.

    Args:
        file_io: the file system.
        picker: selects candidates.
        folders: the directories.
        executor: runs the tasks.
        tasks: the number of tasks; by default by weight.
        threads: the number of threads per task.
    """
    step = items_per_task(len(folders), tasks, _MIN_DIRECTORIES)
    plan = [
        ListTask(file_io, picker, at, tuple(folders[at : at + step]), threads) for at in range(0, len(folders), step)
    ]
    return _merge(list(executor.map(run_list_task, plan)))


def run_list_task(task: ListTask) -> Listed:
    """Run a task."""
    return _merge(map_in_threads(lambda at: _list(task, at), range(len(task.directories)), task.threads))


def _list(task: ListTask, at: int) -> Listed:
    folder, index = task.directories[at], task.first + at
    files, empty = files_in(task.file_io, folder)
    picked, strange = task.picker.pick(folder, files)
    hashes = name_hashes([f.name for f in picked])
    return Listed(hashes, np.full(len(hashes), index, np.int32), len(files), strange, (index,) if empty else ())


def _merge(parts: Sequence[Listed]) -> Listed:
    return Listed(
        np.concatenate([NO_HASHES, *(p.hashes for p in parts)]),
        np.concatenate([_NO_DIRECTORIES, *(p.directories for p in parts)]),
        sum(p.files for p in parts),
        sum(p.strange for p in parts),
        tuple(index for p in parts for index in p.empty),
    )


def _is_ours(pattern: re.Pattern[str] | None, name: str) -> bool:
    matches = pattern is not None and pattern.fullmatch(name) is not None and not is_packed(name)
    return matches or is_temporary(name)

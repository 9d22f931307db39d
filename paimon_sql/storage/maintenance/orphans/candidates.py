"""Files that are old enough, and called as writers call theirs: orphans unless somebody uses them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import share
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.expressions.kernels.name_hashes import NO_HASHES, Hashes, name_hashes
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans.folders import Folder, files_in
from paimon_sql.storage.maintenance.orphans.names import FolderKind, WriterNames, is_packed, is_temporary

FOLDER_SIZE = 64 * 1024
"""What listing a folder counts as when an engine decides where tasks run, in bytes of reading."""
_LEAST_FOLDERS = 16
_NO_FOLDERS = np.empty(0, np.int32)


@dataclass(frozen=True)
class Picker:
    """Tells the files of a folder that may go.

    Attributes:
        names: the names that writers of the table give.
        older_than_millis: what was changed then or later stays, in milliseconds since the epoch.
    """

    names: WriterNames
    older_than_millis: int

    def pick(self, folder: Folder, files: Sequence[FileStatus]) -> tuple[list[FileStatus], int]:
        """The files that may go, and how many are old enough but were made by somebody else."""
        pattern = self.names.pattern(folder.kind)
        old = [f for f in files if f.mtime_millis < self.older_than_millis]
        picked = [f for f in old if _is_ours(pattern, f.name)]
        strange = 0 if folder.kind is FolderKind.NUMBERED else len(old) - len(picked)
        return picked, strange


@dataclass(frozen=True)
class ListTask:
    """Folders to be looked through by one worker; ``first`` is the place of the first among all."""

    file_io: FileIO
    picker: Picker
    first: int
    folders: tuple[Folder, ...]
    threads: int

    @property
    def size(self) -> int:
        """What the work is worth, in bytes."""
        return len(self.folders) * FOLDER_SIZE


@dataclass(frozen=True)
class Listed:
    """What folders hold: files that may go by the hash of their names and the place of their folder among all.

    Attributes:
        hashes: one number a file.
        folders: the place of its folder.
        files: how many files there are, old or not.
        strange: how many are old and were made by somebody else.
        empty: the places of folders that hold nothing.
    """

    hashes: Hashes
    folders: npt.NDArray[np.int32]
    files: int
    strange: int
    empty: tuple[int, ...]


def list_candidates(
    file_io: FileIO, picker: Picker, folders: Sequence[Folder], executor: Executor, tasks: int | None, threads: int
) -> Listed:
    """Look through folders.

    Args:
        file_io: the file system.
        picker: tells what may go.
        folders: the folders.
        executor: runs the tasks.
        tasks: how many tasks there are; as many as the folders are worth by default.
        threads: how many threads each task uses.
    """
    step = share(len(folders), tasks, _LEAST_FOLDERS)
    plan = [
        ListTask(file_io, picker, at, tuple(folders[at : at + step]), threads) for at in range(0, len(folders), step)
    ]
    return _together(list(executor.map(look_through, plan)))


def look_through(task: ListTask) -> Listed:
    """Do one task."""
    return _together(spread(lambda at: _look(task, at), range(len(task.folders)), task.threads))


def _look(task: ListTask, at: int) -> Listed:
    folder, place = task.folders[at], task.first + at
    files, empty = files_in(task.file_io, folder)
    picked, strange = task.picker.pick(folder, files)
    hashes = name_hashes([f.name for f in picked])
    return Listed(hashes, np.full(len(hashes), place, np.int32), len(files), strange, (place,) if empty else ())


def _together(parts: Sequence[Listed]) -> Listed:
    return Listed(
        np.concatenate([NO_HASHES, *(p.hashes for p in parts)]),
        np.concatenate([_NO_FOLDERS, *(p.folders for p in parts)]),
        sum(p.files for p in parts),
        sum(p.strange for p in parts),
        tuple(place for p in parts for place in p.empty),
    )


def _is_ours(pattern: re.Pattern[str] | None, name: str) -> bool:
    made = pattern is not None and pattern.fullmatch(name) is not None and not is_packed(name)
    return made or is_temporary(name)

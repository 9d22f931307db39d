"""Candidates: old files with names of writers in a table's directories, which are orphans unless they are used.

Files with other names were created by something else, and are never removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from paimon_sql.format.layout.paths import INDEX, MANIFEST, OF_EACH_BRANCH, STATISTICS
from paimon_sql.format.options.operations.changelog import CHANGELOG_FILE_PREFIX
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.kernels.name_hashes import NO_HASHES, Hashes, name_hashes
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.metadata.manifests import data_directories
from paimon_sql.storage.table.table import Table

FOLDER_SIZE = 64 * 1024
"""The weight of listing a directory, in bytes, by which an engine decides where tasks run."""
_MIN_DIRECTORIES = 16
_NO_DIRECTORIES = np.empty(0, np.int32)


@dataclass(frozen=True)
class Search:
    """The parameters of a search for orphan files.

    Attributes:
        older_than_millis: only files last modified before are candidates, in milliseconds since the epoch.
        executor: runs the tasks.
        parallelism: the number of tasks per step; by default by weight.
        foreign: external directories that several tables share, which are ignored.
    """

    older_than_millis: int
    executor: Executor
    parallelism: int | None = None
    foreign: Collection[str] = ()


@dataclass(frozen=True)
class CandidateFilter:
    """Selects the candidates of a directory: old files with names that writers of the table give.

    Attributes:
        prefixes: prefixes of data and changelog files.
        older_than_millis: files modified at this time or later are no candidates, in milliseconds since the epoch.
    """

    prefixes: tuple[str, ...]
    older_than_millis: int

    @classmethod
    def of(cls, tables: Iterable[Table], older_than_millis: int) -> CandidateFilter:
        """Select by the names under any schema version of any branch."""
        found = {DATA_FILE_PREFIX.default or "", CHANGELOG_FILE_PREFIX.default or ""}
        for table in tables:
            for options in (table.schema.options, *(s.options for s in table.schemas.all())):
                found |= {options[o.key] for o in (DATA_FILE_PREFIX, CHANGELOG_FILE_PREFIX) if o.key in options}
        return cls(tuple(sorted(found)), older_than_millis)

    def pattern(self, kind: FolderKind) -> re.Pattern[str] | None:
        """Return the pattern of file names in such a directory; None if only temporary files count."""
        if kind is not FolderKind.DATA:
            return _NAMES.get(kind)
        prefixes = "|".join(map(re.escape, self.prefixes))
        extensions = r"(?:\.[A-Za-z0-9_]+)*"
        return re.compile(rf"(?:{prefixes})(?:{_POSTPONED})?{_UUID}-\d+{extensions}(?:-\d+\.index)?|{_INDEX}")

    def pick(self, folder: Folder, files: Sequence[FileStatus]) -> tuple[list[FileStatus], int]:
        """Return the candidates, and the number of old files with other names."""
        pattern = self.pattern(folder.kind)
        old = [f for f in files if f.mtime_millis < self.older_than_millis]
        picked = [f for f in old if is_temporary(f.name) or (pattern is not None and _matches(pattern, f.name))]
        strange = 0 if folder.kind is FolderKind.NUMBERED else len(old) - len(picked)
        return picked, strange


@dataclass(frozen=True)
class ListTask:
    """Directories for one worker to list, each with its index among all."""

    file_io: FileIO
    picker: CandidateFilter
    directories: tuple[tuple[int, Folder], ...]
    threads: int

    @property
    def size(self) -> int:
        """The weight of the task, in bytes."""
        return len(self.directories) * FOLDER_SIZE

    def run(self) -> Listed:
        """List the directories."""
        return _merge(map_in_threads(lambda numbered: self._list(*numbered), self.directories, self.threads))

    def _list(self, index: int, folder: Folder) -> Listed:
        files, empty = files_in(self.file_io, folder)
        picked, strange = self.picker.pick(folder, files)
        hashes = name_hashes([f.name for f in picked])
        return Listed(hashes, np.full(len(hashes), index, np.int32), len(files), strange, (index,) if empty else ())


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
    file_io: FileIO, picker: CandidateFilter, folders: Sequence[Folder], search: Search, threads: int
) -> Listed:
    """List the candidates in directories.

    Args:
        file_io: the file system.
        picker: selects candidates.
        folders: the directories.
        search: runs the tasks.
        threads: the number of threads per task.
    """
    numbered = list(enumerate(folders))

    def task_of(part: Sequence[tuple[int, Folder]]) -> ListTask:
        return ListTask(file_io, picker, tuple(part), threads)

    return _merge(list(search.executor.run_shares(numbered, task_of, _MIN_DIRECTORIES, search.parallelism)))


def _merge(parts: Sequence[Listed]) -> Listed:
    return Listed(
        np.concatenate([NO_HASHES, *(p.hashes for p in parts)]),
        np.concatenate([_NO_DIRECTORIES, *(p.directories for p in parts)]),
        sum(p.files for p in parts),
        sum(p.strange for p in parts),
        tuple(index for p in parts for index in p.empty),
    )


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    """Whether a name is of the pattern, and not of packed blobs: many data files refer to them, but no manifest."""
    return pattern.fullmatch(name) is not None and not name.endswith(_PACKED_BLOBS)


_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TEMPORARY = re.compile(rf"\..+\.{_UUID}\.tmp|{_UUID}-(?:EARLIEST|LATEST)\.temp")
_POSTPONED = r"-u-.+-s-\d+-w-"
_INDEX = rf"index-{_UUID}-\d+"
_PACKED_BLOBS = ".managed.blob"


class FolderKind(str, Enum):
    """The content of a table's directory."""

    DATA = "data"
    """Data and changelog files of a bucket, with their indexes."""
    MANIFEST = "manifest"
    INDEX = "index"
    STATISTICS = "statistics"
    NUMBERED = "numbered"
    """Snapshots, schemas, tags and the like, which are never orphans; only temporary files may be."""


_NAMES = {
    FolderKind.MANIFEST: re.compile(rf"(?:manifest|manifest-list|index-manifest)-{_UUID}-\d+"),
    FolderKind.INDEX: re.compile(rf"{_INDEX}|.+-global-index-{_UUID}\.index"),
    FolderKind.STATISTICS: re.compile(rf"stat-{_UUID}-\d+"),
}


def is_temporary(name: str) -> bool:
    """Whether a file is temporary, to be renamed when it is complete."""
    return _TEMPORARY.fullmatch(name) is not None


_BUCKET = re.compile(r"bucket-(?:\d+|postpone)")
_ENTROPY = re.compile(r"[01]{4}|[01]{8}")
"""Directories below a bucket's, from ``entropy-inject``."""


@dataclass(frozen=True)
class Folder:
    """A directory of a kind; ``root`` is the directory above that is never deleted."""

    path: str
    kind: FolderKind
    root: str


def external_roots(branches: Iterable[Table]) -> list[str]:
    """Return the external directories for data files, current and former, of any branch, sorted."""
    options = [(b, o) for b in branches for o in (b.schema.options, *(s.options for s in b.schemas.all()))]
    return sorted({root for branch, given in options for root in data_directories(given, branch.access)})


def shared_roots(roots: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return the directories that equal, contain or are inside one of the others."""
    mine, theirs = [f"{r}/" for r in roots], [f"{o.rstrip('/')}/" for o in others]
    return {r[:-1] for r in mine if any(r.startswith(o) or o.startswith(r) for o in theirs)}


def folders_of(table: Table, branches: Sequence[Table], external: Iterable[str], threads: int) -> list[Folder]:
    """Return all directories that may contain files of a table.

    Args:
        table: the table.
        branches: the table on each of its branches.
        external: external directories that only this table uses.
        threads: the number of threads that list directories.
    """
    root = table.paths.root
    shared = {MANIFEST: FolderKind.MANIFEST, INDEX: FolderKind.INDEX, STATISTICS: FolderKind.STATISTICS}
    found = [Folder(f"{root}/{name}", kind, root) for name, kind in shared.items()]
    found += [Folder(b.paths.directory(name), FolderKind.NUMBERED, root) for b in branches for name in OF_EACH_BRANCH]
    found += [Folder(b.paths.branch_root, FolderKind.NUMBERED, root) for b in branches]  # the mark of a rollback
    depth = len(table.schema.partition_keys)
    for base in (table.paths.data_root(), *external):
        found += [Folder(path, FolderKind.DATA, base) for path in _buckets(table.file_io, base, depth, threads)]
    return found


def files_in(file_io: FileIO, folder: Folder) -> tuple[list[FileStatus], bool]:
    """Return the files of a directory, of a bucket's recursively, and whether the directory itself is empty."""
    found = level = file_io.list(folder.path)
    files: list[FileStatus] = []
    while level:
        files += [s for s in level if not s.is_dir]
        below = [s.path for s in level if _is_own(s) and _ENTROPY.fullmatch(s.name)]
        level = [s for path in below for s in file_io.list(path)] if folder.kind is FolderKind.DATA else []
    return files, not found


def _buckets(file_io: FileIO, root: str, depth: int, threads: int) -> list[str]:
    """Return bucket directories below partition directories, level by level; others are ignored."""
    level = [root]
    for _ in range(depth):
        level = _below(file_io, level, threads, lambda name: "=" in name)
    return _below(file_io, level, threads, lambda name: _BUCKET.fullmatch(name) is not None)


def _below(file_io: FileIO, folders: Sequence[str], threads: int, matches: Callable[[str], bool]) -> list[str]:
    found = map_in_threads(file_io.list, folders, threads)
    return [s.path for statuses in found for s in statuses if _is_own(s) and matches(s.name)]


def _is_own(status: FileStatus) -> bool:
    """Whether it is a directory of the table, as the target of a symbolic link is not."""
    return status.is_dir and not status.is_link

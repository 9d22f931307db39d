"""Directories that writers of a table write to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_sql.format.layout.paths import CHANGELOG, CONSUMER, INDEX, MANIFEST, SCHEMA, SNAPSHOT, STATISTICS, TAG
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans.names import FolderKind
from paimon_sql.storage.metadata.external_roots import data_directories
from paimon_sql.storage.table.table import Table

_NUMBERED = (SNAPSHOT, CHANGELOG, SCHEMA, TAG, CONSUMER)
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
    found += [Folder(b.paths.directory(name), FolderKind.NUMBERED, root) for b in branches for name in _NUMBERED]
    found += [Folder(b.paths.branch_root, FolderKind.NUMBERED, root) for b in branches]  # the mark of a rollback
    depth = len(table.schema.partition_keys)
    for base in (table.paths.data_root(), *external):
        found += [Folder(path, FolderKind.DATA, base) for path in _buckets(table.file_io, base, depth, threads)]
    return found


def files_in(file_io: FileIO, folder: Folder) -> tuple[list[FileStatus], bool]:
    """Return the files of a directory, of a bucket's recursively, and whether the directory itself is empty."""
    found = file_io.list(folder.path)
    files = [s for s in found if not s.is_dir]
    if folder.kind is FolderKind.DATA:
        pending = [s.path for s in found if _is_own(s) and _ENTROPY.fullmatch(s.name)]
        while pending:
            below = file_io.list(pending.pop())
            files += [s for s in below if not s.is_dir]
            pending += [s.path for s in below if _is_own(s) and _ENTROPY.fullmatch(s.name)]
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

"""The folders that writers of a table fill."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_sql.format.layout.paths import CHANGELOG, CONSUMER, INDEX, MANIFEST, SCHEMA, SNAPSHOT, STATISTICS, TAG
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.maintenance.orphans.names import FolderKind
from paimon_sql.storage.metadata.external_roots import data_directories
from paimon_sql.storage.table.table import Table

_NUMBERED = (SNAPSHOT, CHANGELOG, SCHEMA, TAG, CONSUMER)
_BUCKET = re.compile(r"bucket-(?:\d+|postpone)")
_ENTROPY = re.compile(r"[01]{4}|[01]{8}")
"""The folders below a bucket's that ``entropy-inject`` makes."""


@dataclass(frozen=True)
class Folder:
    """A folder and what it holds; ``root`` is the folder above that is never removed."""

    path: str
    kind: FolderKind
    root: str


def external_roots(branches: Iterable[Table]) -> list[str]:
    """The folders elsewhere that data files of any branch go to or once went to, sorted."""
    options = [(b, o) for b in branches for o in (b.schema.options, *(s.options for s in b.schemas.all()))]
    return sorted({root for branch, some in options for root in data_directories(some, branch.access)})


def shared_roots(roots: Iterable[str], others: Iterable[str]) -> set[str]:
    """Those folders that are among others, or lie above or below one of them."""
    mine, theirs = [f"{r}/" for r in roots], [f"{o.rstrip('/')}/" for o in others]
    return {r[:-1] for r in mine if any(r.startswith(o) or o.startswith(r) for o in theirs)}


def folders_of(table: Table, branches: Sequence[Table], external: Iterable[str], threads: int) -> list[Folder]:
    """All folders that may hold files of a table.

    Args:
        table: the table.
        branches: the table as each of its branches sees it.
        external: folders elsewhere that hold data files of this table alone.
        threads: how many threads list folders.
    """
    root = table.paths.root
    shared = {MANIFEST: FolderKind.MANIFEST, INDEX: FolderKind.INDEX, STATISTICS: FolderKind.STATISTICS}
    found = [Folder(f"{root}/{name}", kind, root) for name, kind in shared.items()]
    found += [Folder(b.paths.directory(name), FolderKind.NUMBERED, root) for b in branches for name in _NUMBERED]
    found += [Folder(b.paths.branch_root, FolderKind.NUMBERED, root) for b in branches]  # the mark of a rollback
    depth = len(table.schema.partition_keys)
    for top in (table.paths.data_root(), *external):
        found += [Folder(path, FolderKind.DATA, top) for path in _buckets(table.file_io, top, depth, threads)]
    return found


def files_in(file_io: FileIO, folder: Folder) -> tuple[list[FileStatus], bool]:
    """The files of a folder, and whether the folder holds nothing at all; a bucket's may stand in folders below it."""
    found = file_io.list(folder.path)
    files = [s for s in found if not s.is_dir]
    if folder.kind is FolderKind.DATA:
        waiting = [s.path for s in found if _is_own(s) and _ENTROPY.fullmatch(s.name)]
        while waiting:
            below = file_io.list(waiting.pop())
            files += [s for s in below if not s.is_dir]
            waiting += [s.path for s in below if _is_own(s) and _ENTROPY.fullmatch(s.name)]
    return files, not found


def _buckets(file_io: FileIO, top: str, depth: int, threads: int) -> list[str]:
    """The folders of buckets below the folders of partitions, level by level; strange folders are passed over."""
    level = [top]
    for _ in range(depth):
        level = _below(file_io, level, threads, lambda name: "=" in name)
    return _below(file_io, level, threads, lambda name: _BUCKET.fullmatch(name) is not None)


def _below(file_io: FileIO, folders: Sequence[str], threads: int, wanted: Callable[[str], bool]) -> list[str]:
    found = spread(file_io.list, folders, threads)
    return [s.path for statuses in found for s in statuses if _is_own(s) and wanted(s.name)]


def _is_own(status: FileStatus) -> bool:
    """Whether it is a directory of the table: what a symbolic link leads to is not."""
    return status.is_dir and not status.is_link

"""Unused files by kind, and their deletion in an order that a crash may interrupt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_sql.format.options.operations.snapshot import SNAPSHOT_CLEAN_EMPTY_DIRECTORIES
from paimon_sql.format.options.operations.write import FILE_OPERATION_THREAD_NUM
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.base import refuse_links
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.table.data_file_paths import bucket_folders, data_file_paths, extra_file_paths
from paimon_sql.storage.table.table import Table

DEFAULT_THREADS = 8
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
    def count(self) -> int:
        """The number of all files."""
        return sum(map(len, self._kinds()))

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


@dataclass
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

    def add(self, files: FilesToDelete) -> None:
        """Count files."""
        self.data += len(files.data)
        self.changelog += len(files.changelog)
        self.manifests += len(files.manifests)
        self.lists += len(files.lists)
        self.indexes += len(files.indexes)
        self.statistics += len(files.statistics)
        self.bytes += files.bytes


def delete_all(table: Table, paths: Sequence[str]) -> int:
    """Delete files, in parallel if that is faster; return how many existed."""
    refuse_links(table.file_io, paths, table.manifests.external_roots.root_of)
    max_threads = table.options.get(FILE_OPERATION_THREAD_NUM) or DEFAULT_THREADS
    return table.file_io.delete_many(paths, table.file_io.threads_for(table.path, len(paths), max_threads))


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

"""Access to files: one interface over local files, object stores and HDFS, selected by a path's scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import FILE_IO_SYNC
from paimon_sql.storage.file_io.base import FileIO, FileStatus
from paimon_sql.storage.file_io.local import LocalFileIO
from paimon_sql.storage.file_io.paths import store_of

__all__ = ["FileIO", "FileStatus", "LocalFileIO", "ResolvingFileIO", "file_io_of"]


def file_io_of(path: str, options: Mapping[str, str] | None = None) -> FileIO:
    """Create the file system of ``path`` from a catalog's options; nothing is opened yet."""
    scheme, authority = store_of(path)
    if scheme != "file":
        # Warehouses on local disks need no clients of object stores.
        from paimon_sql.storage.file_io.arrow import ArrowFileIO

        return ArrowFileIO(scheme, authority, options)
    return LocalFileIO(durable=TableOptions(options or {}).get(FILE_IO_SYNC))


Operation = TypeVar("Operation", bound=Callable[..., object])


def _dispatched(operation: Operation) -> Operation:
    """Execute an operation on one path by the path's file system."""

    def dispatched(self: ResolvingFileIO, path: str, *arguments: object, **options: object) -> object:
        return getattr(self.of(path), operation.__name__)(path, *arguments, **options)

    return cast("Operation", dispatched)


class ResolvingFileIO(FileIO):
    """Read and write any path, for tables with data files on several file systems (external paths).

    Args:
        options: the catalog's options, for all file systems.
    """

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.options: dict[str, str] = dict(options or {})
        self._by_scheme_and_authority: dict[tuple[str, str], FileIO] = {}

    def __reduce__(self) -> tuple[type[ResolvingFileIO], tuple[dict[str, str]]]:
        return type(self), (self.options,)

    def of(self, path: str) -> FileIO:
        """Return the file system of the path."""
        store = store_of(path)
        known = self._by_scheme_and_authority
        return known.get(store) or known.setdefault(store, file_io_of(path, self.options))

    def _by_store(self, paths: Iterable[str]) -> dict[FileIO, list[str]]:
        grouped: dict[FileIO, list[str]] = {}
        for path in paths:
            grouped.setdefault(self.of(path), []).append(path)
        return grouped

    can_create_exclusively = _dispatched(FileIO.can_create_exclusively)
    is_object_store = _dispatched(FileIO.is_object_store)
    failures_are_final = _dispatched(FileIO.failures_are_final)
    open_input = _dispatched(FileIO.open_input)
    open_output = _dispatched(FileIO.open_output)
    read_bytes = _dispatched(FileIO.read_bytes)
    write_bytes = _dispatched(FileIO.write_bytes)
    write_durably = _dispatched(FileIO.write_durably)
    try_create_exclusive = _dispatched(FileIO.try_create_exclusive)
    replace_if = _dispatched(FileIO.replace_if)
    delete = _dispatched(FileIO.delete)
    delete_if = _dispatched(FileIO.delete_if)
    delete_dir = _dispatched(FileIO.delete_dir)
    mkdirs = _dispatched(FileIO.mkdirs)
    sync_directory = _dispatched(FileIO.sync_directory)
    status = _dispatched(FileIO.status)
    size = _dispatched(FileIO.size)
    list = _dispatched(FileIO.list)
    walk = _dispatched(FileIO.walk)
    link_below = _dispatched(FileIO.link_below)

    def sync(self, paths: Iterable[str], root: str) -> None:
        for file_io, some in self._by_store(paths).items():
            file_io.sync(some, root)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        return sum(file_io.delete_many(some, threads) for file_io, some in self._by_store(paths).items())

    def rename(self, src: str, dst: str) -> bool:
        if self.of(src) is not self.of(dst):
            raise UnsupportedError(f"Cannot rename {src} to {dst}: they are on different file systems.")
        return self.of(src).rename(src, dst)

    def copy(self, source: str, target: str) -> None:
        if self.of(source) is self.of(target):
            self.of(source).copy(source, target)
        else:
            super().copy(source, target)

"""One FileIO for all paths: dispatches to the file system of a path's scheme and authority."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import FILE_IO_SYNC
from paimon_sql.storage.file_io.arrow import ArrowFileIO
from paimon_sql.storage.file_io.base import FileIO, FileStatus
from paimon_sql.storage.file_io.local import LocalFileIO
from paimon_sql.storage.file_io.paths import store_of


def file_io_of(path: str, options: Mapping[str, str] | None = None) -> FileIO:
    """Create the file system of ``path`` from a catalog's options; nothing is opened yet."""
    scheme, authority = store_of(path)
    if scheme != "file":
        return ArrowFileIO(scheme, authority, options)
    return LocalFileIO(durable=TableOptions(options or {}).get(FILE_IO_SYNC))


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
        file_io = self._by_scheme_and_authority.get(store)
        if file_io is None:
            file_io = self._by_scheme_and_authority.setdefault(store, file_io_of(path, self.options))
        return file_io

    def _by_store(self, paths: Iterable[str]) -> dict[FileIO, list[str]]:
        grouped: dict[FileIO, list[str]] = {}
        for path in paths:
            grouped.setdefault(self.of(path), []).append(path)
        return grouped

    def can_create_exclusively(self, path: str) -> bool:
        return self.of(path).can_create_exclusively(path)

    def is_object_store(self, path: str) -> bool:
        return self.of(path).is_object_store(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return self.of(path).open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        return self.of(path).open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self.of(path).write_bytes(path, data)

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        return self.of(path).try_create_exclusive(path, data, locked=locked)

    def write_durably(self, path: str, data: bytes) -> None:
        self.of(path).write_durably(path, data)

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        return self.of(path).replace_if(path, expected, data, durable=durable)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        return self.of(path).delete_if(path, is_meant, durable=durable)

    def sync(self, paths: Iterable[str], root: str) -> None:
        for file_io, some in self._by_store(paths).items():
            file_io.sync(some, root)

    def sync_directory(self, path: str) -> None:
        self.of(path).sync_directory(path)

    def failures_are_final(self, path: str) -> bool:
        return self.of(path).failures_are_final(path)

    def status(self, path: str) -> FileStatus | None:
        return self.of(path).status(path)

    def list(self, path: str) -> list[FileStatus]:
        return self.of(path).list(path)

    def walk(self, path: str) -> Iterator[FileStatus]:
        return self.of(path).walk(path)

    def delete(self, path: str) -> bool:
        return self.of(path).delete(path)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        return sum(file_io.delete_many(some, threads) for file_io, some in self._by_store(paths).items())

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        return self.of(path).delete_dir(path, recursive)

    def mkdirs(self, path: str) -> None:
        self.of(path).mkdirs(path)

    def rename(self, src: str, dst: str) -> bool:
        if self.of(src) is not self.of(dst):
            raise UnsupportedError(f"Cannot rename {src} to {dst}: they stand on different file systems.")
        return self.of(src).rename(src, dst)

    def copy(self, source: str, target: str) -> None:
        if self.of(source) is self.of(target):
            self.of(source).copy(source, target)
        else:
            super().copy(source, target)

    def size(self, path: str) -> int:
        return self.of(path).size(path)

    def link_below(self, root: str, path: str) -> str | None:
        return self.of(path).link_below(root, path)

    def read_bytes(self, path: str) -> bytes:
        return self.of(path).read_bytes(path)

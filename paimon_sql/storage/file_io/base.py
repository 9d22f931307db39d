"""What a file system must be able to do, and nothing about which one it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.storage.threads import spread

_FEW = 256
"""How many files of a disk one thread touches before another is worth starting."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What a listing says of a file or directory; ``size`` is in bytes, 0 for a directory."""

    path: str
    name: str
    size: int
    mtime_millis: int
    is_dir: bool


class FileIO(ABC):
    """Reading and writing files by path.

    An instance can be pickled and shared between threads. A missing file is a ``MissingFileError``, a refusal of the
    file system a ``PaimonError`` that names path and reason. Directories come into being with their first file.

    Attributes:
        options: the catalog's options, by which it was made; secrets are among them.
        credentials_change: whether its credentials end and are replaced, so that others cannot be told them once.
    """

    options: Mapping[str, str] = {}
    credentials_change: bool = False

    @abstractmethod
    def can_create_exclusively(self, path: str) -> bool:
        """Whether ``try_create_exclusive`` is atomic for such a path without a lock."""

    @abstractmethod
    def is_object_store(self, path: str) -> bool:
        """Whether directories are mere prefixes there: then ``rename`` copies, and an empty one needs a mark."""

    def threads_for(self, path: str, files: int, most: int) -> int:
        """How many threads to touch files with: on a disk, starting some for a few takes longer than the files do.

        Args:
            path: a folder above them.
            files: how many there are.
            most: the most threads.
        """
        enough = 1 if self.is_object_store(path) else _FEW
        return min(most, files // enough) if files > 1 else 1

    @abstractmethod
    def open_input(self, path: str) -> pa.NativeFile:
        """The file, open for random access."""

    @abstractmethod
    def open_output(self, path: str) -> pa.NativeFile:
        """A stream into a new file of that name; what stood there is replaced, at the latest by closing."""

    @abstractmethod
    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file at once, replacing what stood there; a reader sees the old or the new content whole."""

    @abstractmethod
    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        """Create a whole file if none stands there: True if this call made it, False if the name was taken.

        Among any number of concurrent callers one wins, and nobody ever sees a part of the content.

        Args:
            path: the file to create.
            data: its content.
            locked: the caller holds the catalog's lock on this table, so looking first and writing then is safe.

        Raises:
            UnsupportedError: the file system has no such operation and ``locked`` is false.
        """

    @abstractmethod
    def status(self, path: str) -> FileStatus | None:
        """What stands at this path, None if nothing does."""

    @abstractmethod
    def list(self, path: str) -> list[FileStatus]:
        """What stands directly in a directory, sorted by name; nothing for a directory that does not exist."""

    @abstractmethod
    def walk(self, path: str) -> Iterator[FileStatus]:
        """All files at any depth below a directory, in no particular order; nothing if it does not exist."""

    @abstractmethod
    def delete(self, path: str) -> bool:
        """Remove a file: True if it was there."""

    @abstractmethod
    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        """Remove a directory: True if it is gone now and was there.

        Without ``recursive`` a directory that holds anything is left alone, and the answer is False.
        """

    @abstractmethod
    def mkdirs(self, path: str) -> None:
        """Make the directory and those above it, in an object store by marks; nothing happens if it is there."""

    @abstractmethod
    def rename(self, src: str, dst: str) -> bool:
        """Move a file or directory to a free name: False if ``dst`` is taken.

        On an object store this copies and is not atomic.
        """

    def exists(self, path: str) -> bool:
        """Whether a file or directory stands at this path."""
        return self.status(path) is not None

    def size(self, path: str) -> int:
        """The file's size in bytes."""
        with self.open_input(path) as stream:
            return int(stream.size())

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a file."""
        with self.open_input(path) as stream:
            return bytes(stream.read())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """``length`` bytes of a file from ``offset`` on; fewer if the file ends before."""
        with self.open_input(path) as stream:
            return bytes(stream.read_at(length, offset))

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        """Remove files, several at a time; how many of them were there."""
        return sum(spread(self.delete, list(paths), threads))

"""What a file system must be able to do, and nothing about which one it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.bytes.bounded import MAX_FILE_BYTES
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io.paths import parent_of

_CHUNK = 1 << 20
_FEW = 256
"""How many files of a disk one thread touches before another is worth starting."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What a listing says of a file or directory; ``size`` is in bytes, 0 for a directory.

    ``is_link`` says that it is a symbolic link, of which the rest is told of what the link leads to.
    """

    path: str
    name: str
    size: int
    mtime_millis: int
    is_dir: bool
    is_link: bool = False


def check_size(size: int, path: str) -> None:
    """Nothing if a metadata file is small enough to be read as a whole; CorruptFileError otherwise."""
    if size > MAX_FILE_BYTES:
        raise CorruptFileError(f"it has {size} bytes, and a metadata file has {MAX_FILE_BYTES} at most", path=path)


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

        Among any number of concurrent callers one wins, no reader ever sees a part of the content, and the file
        survives a loss of power.

        Args:
            path: the file to create.
            data: its content.
            locked: the caller holds the catalog's lock on this table, so looking first and writing then is safe.

        Raises:
            UnsupportedError: the file system has no such operation and ``locked`` is false.
        """

    def write_durably(self, path: str, data: bytes) -> None:
        """Write a whole file as `write_bytes` does; it survives a loss of power once this returns.

        After a loss of power before that the file has its old content or the new one.
        """
        self.write_bytes(path, data)
        self.sync([path], parent_of(path))

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        """Replace a file's content unless another process changed it since it was read: True if this call did.

        Atomic among the processes of one machine for local files, whose directory is not made anew if it is gone.
        Elsewhere the content is compared right before it is replaced, so that a caller must still look afterwards.

        Args:
            path: the file.
            expected: the content that the caller has read, None if there was no file.
            data: the new content.
            durable: whether it survives a loss of power, as after `write_durably`.
        """
        if self._content(path) != expected:
            return False
        write = self.write_durably if durable else self.write_bytes
        write(path, data)
        return True

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        """Remove a file if its content is what the caller means: True if this call did.

        Another file may have come under that name since the caller looked. Atomic among the processes of one machine
        for local files, and in S3 where the store heeds the condition of a delete. Elsewhere the content is looked at
        right before.

        Args:
            path: the file.
            is_meant: whether this is the content of the file that is to go.
            durable: whether it does not come back by a loss of power, as after `delete_durably`.

        Raises:
            CommitConflictError: another process is about to remove it, and stands still.
        """
        content = self._content(path)
        if content is None or not is_meant(content):
            return False
        return self.delete_durably(path) if durable else self.delete(path)

    def _content(self, path: str) -> bytes | None:
        try:
            return self.read_bytes(path)
        except MissingFileError:
            return None

    def sync(self, paths: Iterable[str], root: str) -> None:  # noqa: B027
        """Make files and the names that lead to them survive a loss of power; they do when this returns.

        Stores that keep what they have acknowledged, such as object stores and HDFS, need nothing more.

        Args:
            paths: files that are complete, written by any process.
            root: a directory above them that is durable already.

        Raises:
            MissingFileError: one of them is not there.
        """

    def sync_directory(self, path: str) -> None:  # noqa: B027
        """Make names that came or went directly in a directory survive a loss of power as they are now.

        Nothing happens for a directory that does not exist, or in stores that keep what they have acknowledged.
        """

    def delete_durably(self, path: str) -> bool:
        """Remove a file, which does not come back by a loss of power once this returns: True if it was there."""
        was_there = self.delete(path)
        if was_there:
            self.sync_directory(parent_of(path))
        return was_there

    def answers_are_final(self, path: str) -> bool:
        """Whether an operation that failed has had no effect and will have none later.

        That holds for calls of the operating system. A request to a server may still be carried out after its answer
        was lost.
        """
        return False

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

    def copy(self, source: str, target: str) -> None:
        """Copy a file; what stands at the target is replaced."""
        with self.open_input(source) as reader, self.open_output(target) as writer:
            while chunk := reader.read(_CHUNK):
                writer.write(chunk)

    def exists(self, path: str) -> bool:
        """Whether a file or directory stands at this path."""
        return self.status(path) is not None

    def size(self, path: str) -> int:
        """The file's size in bytes."""
        with self.open_input(path) as stream:
            return int(stream.size())

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a metadata file; CorruptFileError for one of more than `MAX_FILE_BYTES`."""
        with self.open_input(path) as stream:
            check_size(int(stream.size()), path)
            return bytes(stream.read())

    def link_below(self, root: str, path: str) -> str | None:
        """The first directory between ``root`` and a file below it that is a symbolic link; None without one."""
        return None

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """``length`` bytes of a file from ``offset`` on; fewer if the file ends before."""
        with self.open_input(path) as stream:
            return bytes(stream.read_at(length, offset))

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        """Remove files, several at a time; how many of them were there."""
        return sum(spread(self.delete, list(paths), threads))

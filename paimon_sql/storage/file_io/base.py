"""The interface of file systems, their errors as ``PaimonError``, and the refusal of symbolic links."""

from __future__ import annotations

import errno
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.errors import (
    CorruptFileError,
    InvalidInputError,
    MissingFileError,
    PaimonError,
    UnsafePathError,
    UnsupportedError,
)
from paimon_sql.format.bytes.bounded import MAX_FILE_BYTES
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io.paths import name_of, parent_of

_CHUNK = 1 << 20
_FILES_PER_THREAD = 256
"""Files on a disk per thread: fewer are not worth another thread."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """An entry of a listing; ``size`` is in bytes, 0 for a directory.

    If ``is_link`` is true, the path is a symbolic link, and the other fields describe its target.
    """

    path: str
    name: str
    size: int
    mtime_millis: int
    is_dir: bool
    is_link: bool = False

    @classmethod
    def of(
        cls, path: str, size: int | None, mtime_nanos: int | None, is_dir: bool, is_link: bool = False
    ) -> FileStatus:
        """Create the status from what a file system says."""
        return cls(path, name_of(path), 0 if is_dir else size or 0, (mtime_nanos or 0) // 1_000_000, is_dir, is_link)


def check_size(size: int, path: str) -> None:
    """Raise `CorruptFileError` if a metadata file is too large to be read as a whole."""
    if size > MAX_FILE_BYTES:
        raise CorruptFileError(f"it has {size} bytes, but a metadata file may have at most {MAX_FILE_BYTES}", path=path)


class FileIO(ABC):
    """Reading and writing files by path.

    An instance can be pickled and shared between threads. A missing file raises ``MissingFileError``, any other error
    of the file system a ``PaimonError`` with path and reason. Directories are created with their first file.

    Attributes:
        options: the catalog's options, including secrets.
        credentials_change: whether its credentials expire and are replaced, so that they cannot be handed on once.
    """

    options: Mapping[str, str] = {}
    credentials_change: bool = False

    @abstractmethod
    def can_create_exclusively(self, path: str) -> bool:
        """Whether ``try_create_exclusive`` is atomic for the path without a lock."""

    @abstractmethod
    def is_object_store(self, path: str) -> bool:
        """Whether directories are only prefixes: ``rename`` copies, and an empty directory needs a marker object."""

    def threads_for(self, path: str, files: int, max_threads: int) -> int:
        """Return the number of threads for operations on many files; on a disk, few files are faster without threads.

        Args:
            path: a directory above the files.
            files: number of files.
            max_threads: maximum number of threads.
        """
        files_per_thread = 1 if self.is_object_store(path) else _FILES_PER_THREAD
        return min(max_threads, files // files_per_thread) if files > 1 else 1

    @abstractmethod
    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access."""

    @abstractmethod
    def open_output(self, path: str) -> pa.NativeFile:
        """Open a stream into a new file; an existing file is replaced, at the latest on close."""

    @abstractmethod
    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file at once, replacing an existing one; readers see either the old or the new content completely."""

    @abstractmethod
    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        """Create a file if the path is free: True if this call created it, False if the path exists.

        Exactly one of several concurrent callers wins, no reader ever sees partial content, and the file survives a
        loss of power.

        Args:
            path: the file to create.
            data: its content.
            locked: the caller holds the catalog's lock on this table, so that checking first and writing then is safe.

        Raises:
            UnsupportedError: the file system has no such operation and ``locked`` is false.
        """

    def write_durably(self, path: str, data: bytes) -> None:
        """Write a file like `write_bytes`; it survives a loss of power after this returns.

        After an earlier loss of power, the file has its old or its new content.
        """
        self.write_bytes(path, data)
        self.sync([path], parent_of(path))

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        """Replace a file's content unless another process changed it since it was read: True if this call replaced it.

        Atomic among the processes of one machine for local files, whose directory is not recreated if it was removed.
        Elsewhere the content is compared immediately before the write, so that a caller must still check afterwards.

        Args:
            path: the file.
            expected: the content that the caller read; None if there was no file.
            data: the new content.
            durable: whether the new content must survive a loss of power, like after `write_durably`.
        """
        if self.read_if_exists(path) != expected:
            return False
        write = self.write_durably if durable else self.write_bytes
        write(path, data)
        return True

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        """Delete a file if its content is the expected one: True if this call deleted it.

        Another file may have been created under the name since the caller read it. Atomic among the processes of one
        machine for local files, and in S3 if the store supports conditional deletes. Elsewhere the content is checked
        immediately before the deletion.

        Args:
            path: the file.
            is_meant: whether the content is that of the file to delete.
            durable: whether the deletion must survive a loss of power, like after `delete_durably`.

        Raises:
            CommitConflictError: another process holds the lock for its deletion and does not proceed.
        """
        content = self.read_if_exists(path)
        if content is None or not is_meant(content):
            return False
        return self.delete_durably(path) if durable else self.delete(path)

    def read_if_exists(self, path: str) -> bytes | None:
        """Read a metadata file like `read_bytes`; None if it does not exist."""
        try:
            return self.read_bytes(path)
        except MissingFileError:
            return None

    def sync(self, paths: Iterable[str], root: str) -> None:  # noqa: B027
        """Flush files and the directory entries above them, so that they survive a loss of power.

        Stores that acknowledge only durable writes, such as object stores and HDFS, need nothing more.

        Args:
            paths: complete files, written by any process.
            root: a directory above them that is already durable.

        Raises:
            MissingFileError: a file is missing.
        """

    def sync_directory(self, path: str) -> None:  # noqa: B027
        """Flush the entries of a directory, so that creations and deletions in it survive a loss of power.

        Does nothing for a missing directory, or in stores that acknowledge only durable writes.
        """

    def delete_durably(self, path: str) -> bool:
        """Delete a file, so that the deletion survives a loss of power: True if the file existed."""
        if existed := self.delete(path):
            self.sync_directory(parent_of(path))
        return existed

    def failures_are_final(self, path: str) -> bool:
        """Whether a failed operation had no effect and will have none later.

        True for system calls. A server may still execute a request after its response was lost.
        """
        return False

    @abstractmethod
    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; None if it does not exist."""

    @abstractmethod
    def list(self, path: str) -> list[FileStatus]:
        """Return the direct entries of a directory, sorted by name; empty for a missing directory."""

    @abstractmethod
    def walk(self, path: str) -> Iterator[FileStatus]:
        """Yield all files at any depth below a directory, unordered; none for a missing directory."""

    @abstractmethod
    def delete(self, path: str) -> bool:
        """Delete a file: True if it existed."""

    @abstractmethod
    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        """Delete a directory: True if it existed and was deleted.

        Without ``recursive`` a directory that is not empty is retained, and the result is False.
        """

    @abstractmethod
    def mkdirs(self, path: str) -> None:
        """Create the directory and its parents, in an object store by marker objects; does nothing if it exists."""

    @abstractmethod
    def rename(self, src: str, dst: str) -> bool:
        """Move a file or directory to a free path: False if ``dst`` exists.

        On an object store this copies and is not atomic.
        """

    def copy(self, source: str, target: str) -> None:
        """Copy a file, replacing the target."""
        with self.open_input(source) as reader, self.open_output(target) as writer:
            while chunk := reader.read(_CHUNK):
                writer.write(chunk)

    def exists(self, path: str) -> bool:
        """Whether the path is a file or directory."""
        return self.status(path) is not None

    def size(self, path: str) -> int:
        """Return the file's size in bytes."""
        with self.open_input(path) as stream:
            return int(stream.size())

    def read_bytes(self, path: str) -> bytes:
        """Read a metadata file completely.

        Raises:
            CorruptFileError: it has more than `MAX_FILE_BYTES`.
        """
        with self.open_input(path) as stream:
            check_size(int(stream.size()), path)
            return bytes(stream.read())

    def link_below(self, root: str, path: str) -> str | None:
        """Return the first directory between ``root`` and a file below it that is a symbolic link; None without one."""
        return None

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read ``length`` bytes of a file from ``offset``; fewer at the end of the file."""
        with self.open_input(path) as stream:
            return bytes(stream.read_at(length, offset))

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        """Delete files in parallel, and return how many of them existed."""
        return sum(map_in_threads(self.delete, list(paths), threads))


_NO_BUCKET = re.compile("NoSuchBucket|NO_SUCH_BUCKET")
_WRONG_CREDENTIALS = re.compile(
    "SignatureDoesNotMatch|SIGNATURE_DOES_NOT_MATCH|InvalidAccessKeyId|INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID"
    "|Unable to locate credentials"
)
_UNREACHABLE = re.compile(
    "NETWORK_CONNECTION|Could not connect to the endpoint|Connect timeout|Read timeout|Couldn't resolve"
)
_OF_STORES = (
    (_NO_BUCKET, "has no such bucket", "Create the bucket, or check the path."),
    (_WRONG_CREDENTIALS, "refuses the credentials", "Check the catalog's options 's3.access-key' and 's3.secret-key'."),
    (_UNREACHABLE, "does not answer", "Check the catalog's option 's3.endpoint' and the network."),
)
"""Words of a store's error, what it means, and the remedy."""
_DENIED = re.compile("ACCESS_DENIED|AccessDenied|PERMISSION_DENIED|Permission denied|HTTP status 403|Forbidden")
_NOT_FOUND = re.compile("NoSuchKey|NO_SUCH_KEY|HTTP status 404")
_MAX_NAME_BYTES = 255
MAKE_DIRECTORY = "create the directory"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translate_errors(action: str, path: str) -> Iterator[None]:
    """Translate errors of the operating system and of Arrow into ``PaimonError``; ``action`` completes "Cannot ..."."""
    try:
        yield
    except PaimonError:
        raise
    except OSError as error:
        raise _translated(action, path, error) from error


def _translated(action: str, path: str, error: OSError) -> PaimonError:
    text = (error.strerror or str(error)).strip().rstrip(".")
    if error.errno == errno.ENAMETOOLONG:
        return _too_long(action, path)
    if action == MAKE_DIRECTORY and isinstance(error, FileNotFoundError | NotADirectoryError):
        return PaimonError(
            f"Cannot {action} {path}: a directory cannot be created there.", remedy="Check the warehouse's path."
        )
    for words, what, remedy in _OF_STORES:
        if words.search(text):
            return PaimonError(f"Cannot {action} {path}: the store {what}.", remedy=remedy)
    if isinstance(error, FileNotFoundError) or _NOT_FOUND.search(text):
        return MissingFileError(
            f"Cannot {action} {path}: it does not exist.",
            path=path,
            remedy="Another process may have expired or deleted it: read the table's latest snapshot again.",
        )
    if isinstance(error, PermissionError) or _DENIED.search(text):
        return PaimonError(
            f"Cannot {action} {path}: permission denied.",
            remedy="Grant this user access to the path, or check the credentials in the catalog's options.",
        )
    if error.errno in _NO_SPACE:
        return PaimonError(f"Cannot {action} {path}: no space left.", remedy="Free some space and run it again.")
    return PaimonError(f"Cannot {action} {path}: {text}.")


def _too_long(action: str, path: str) -> InvalidInputError:
    parts = path.split("/")
    for i, part in enumerate(parts):
        length = len(part.encode("utf-8", "surrogateescape"))
        if length > _MAX_NAME_BYTES:
            parent = "/".join(parts[:i])
            return InvalidInputError(
                f"Cannot {action} a file under {parent}: the name '{part[:40]}…' has {length} bytes, more than"
                " the file system supports.",
                remedy=f"Names of tables and values of partition columns must leave room for {_MAX_NAME_BYTES} bytes.",
            )
    return InvalidInputError(f"Cannot {action} {path[:200]}…: the path is too long for the file system.")


def no_exclusive_create(path: str, why: str) -> UnsupportedError:
    """Return the error of a file system on which concurrent writers need a lock."""
    return UnsupportedError(
        f"Cannot create {path} safely: {why}, so two concurrent commits could overwrite each other.",
        remedy="Set the catalog option 'lock.enabled' = 'true' on a JDBC or Hive catalog.",
    )


def refuse_links(file_io: FileIO, paths: Iterable[str], root_of: Callable[[str], str | None]) -> None:
    """Check that no directory between a root and the files below it is a symbolic link.

    Args:
        file_io: the file system.
        paths: files to delete.
        root_of: returns the root of a path, which itself may be a link; None skips the path.

    Raises:
        UnsafePathError: a directory is a link; nothing may be deleted.
    """
    for path in {parent_of(path): path for path in paths}.values():
        root = root_of(path)
        link = None if root is None else file_io.link_below(root, path)
        if link is not None:
            raise UnsafePathError(
                "is a symbolic link inside of a table, and files behind it are not deleted",
                path=link,
                remedy="Replace it by a directory or a mount.",
            )

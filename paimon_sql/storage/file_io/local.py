"""Local files: plain paths and ``file:`` URIs.

Windows opens no directories and has other locks: there directories are not flushed, and processes do not exclude each
other while they replace or delete a file by its content, as on file systems without locks.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG

import pyarrow as pa

from paimon_sql.errors import CommitConflictError, CorruptFileError
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import base
from paimon_sql.storage.file_io.base import FileIO, FileStatus, translate_errors
from paimon_sql.storage.file_io.paths import join, local_path, parent_of, temporary_sibling

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

_MISSING = (FileNotFoundError, NotADirectoryError)
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST)
_NO_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that cannot flush a directory; they persist its entries automatically, or not at all."""
_OPENS_DIRECTORIES = hasattr(os, "O_DIRECTORY")
_FLUSHABLE = os.O_RDONLY if _OPENS_DIRECTORIES else os.O_RDWR
"""Windows flushes only files that are open for writing."""
_LOCK_HELD = (errno.EAGAIN, errno.EACCES)
_LONGEST_HELD = 2.0
"""Seconds to wait for a process that replaces a file of the same directory, or deletes the same file."""
_POLL_INTERVAL = 0.005
_SYNC_THREADS = 8


class LocalFileIO(FileIO):
    """The local file system; listings return paths with the scheme they were requested with.

    Args:
        durable: whether `sync` and the durable writes flush to the disk.
    """

    durable: bool = True

    def __init__(self, *, durable: bool = True) -> None:
        self.durable = durable

    def can_create_exclusively(self, path: str) -> bool:
        return True

    def is_object_store(self, path: str) -> bool:
        return False

    def open_input(self, path: str) -> pa.NativeFile:
        with translate_errors("read", path):
            target = _local(path)
            _regular_size(target, path)
            return pa.OSFile(str(target), "rb")

    def open_output(self, path: str) -> pa.NativeFile:
        target = _local(path)
        with translate_errors("write", path):
            try:
                return pa.OSFile(str(target), "wb")
            except FileNotFoundError:
                target.parent.mkdir(parents=True, exist_ok=True)
                return pa.OSFile(str(target), "wb")

    def write_bytes(self, path: str, data: bytes) -> None:
        self._replace(path, data, durable=False)

    def write_durably(self, path: str, data: bytes) -> None:
        self._replace(path, data, durable=self.durable)

    def _replace(self, path: str, data: bytes, *, durable: bool) -> None:
        target = _local(path)
        with translate_errors("write", path):
            temporary, fresh = _write_temporary(target, data, durable=durable)
            try:
                temporary.replace(target)
            except OSError:
                temporary.unlink()
                raise
            # A later durable write flushes only its own directory.
            self._sync_directories([target.parent, *fresh] if durable else fresh)

    def _sync_directories(self, directories: Iterable[Path]) -> None:
        """Flush the entries of directories, the deepest first; one that was removed concurrently is skipped."""
        is_needed = self.durable and _OPENS_DIRECTORIES
        for directory in sorted(set(directories) if is_needed else (), key=lambda d: len(d.parts), reverse=True):
            try:
                _sync_file(directory)
            except OSError as error:
                if error.errno not in (errno.ENOENT, *_NO_SYNC):
                    raise

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        target = _local(path)
        with translate_errors("create", path):
            if os.path.lexists(target):
                return False
            temporary, fresh = _write_temporary(target, data, durable=self.durable)
            try:
                created = _link(temporary, target)
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                if not locked:
                    raise base.no_exclusive_create(path, "its file system has no hard links") from error
                temporary.rename(target)
                created = True
            finally:
                temporary.unlink(missing_ok=True)
            if created:
                self._sync_directories([target.parent, *fresh])
            return created

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        target = _local(path)
        with translate_errors("write", path), _directory_lock(target.parent) as is_there:
            # A directory that was removed concurrently, with its table or branch, must not be recreated.
            return is_there and super().replace_if(path, expected, data, durable=durable)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        if fcntl is None:
            return super().delete_if(path, is_meant, durable=durable)
        target = _local(path)
        with translate_errors("delete", path):
            try:
                descriptor = os.open(target, os.O_RDONLY)
            except FileNotFoundError:
                return False
            try:
                # The deleting process holds the file's lock, so that the name stays taken until the deletion is done.
                if not _lock_with_timeout(descriptor):
                    raise CommitConflictError(
                        f"Cannot delete {path}: another process has started to delete it, and does not continue.",
                        remedy="Run the statement again.",
                    )
                if not _is_at(descriptor, target) or not is_meant(self.read_bytes(path)):
                    return False
                target.unlink()
            finally:
                os.close(descriptor)
            if durable:
                self._sync_directories([target.parent])
            return True

    def sync(self, paths: Iterable[str], root: str) -> None:
        if not self.durable:
            return
        files, top = [_local(path) for path in paths], _local(root)
        with translate_errors("flush files below", root):
            threads = self.threads_for(root, len(files), _SYNC_THREADS)
            map_in_threads(_sync_file, files, threads)
            parents = {file.parent for file in files}
            self._sync_directories(parents | {up for parent in parents for up in _possibly_created_above(parent, top)})

    def sync_directory(self, path: str) -> None:
        with translate_errors("flush", path):
            self._sync_directories([_local(path)])

    def failures_are_final(self, path: str) -> bool:
        return True

    def status(self, path: str) -> FileStatus | None:
        with translate_errors("access", path):
            with suppress(*_MISSING):
                return _status(path, _local(path).stat())
            return None

    def list(self, path: str) -> list[FileStatus]:
        with translate_errors("list", path):
            return sorted(_entries(path), key=lambda status: status.name)

    def walk(self, path: str) -> Iterator[FileStatus]:
        for entry in self.list(path):
            if entry.is_dir:
                yield from self.walk(entry.path)
            else:
                yield entry

    def delete(self, path: str) -> bool:
        with translate_errors("delete", path):
            with suppress(*_MISSING):
                _local(path).unlink()
                return True
            return False

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        with translate_errors("delete", path):
            remove: Callable[[Path], object] = shutil.rmtree if recursive else Path.rmdir
            try:
                remove(_local(path))
            except OSError as error:
                if error.errno in (errno.ENOENT, *_OCCUPIED):
                    return False
                raise
            return True

    def mkdirs(self, path: str) -> None:
        with translate_errors(base.MAKE_DIRECTORY, path):
            fresh = _missing_above(_local(path) / "_")
            _local(path).mkdir(parents=True, exist_ok=True)
            self._sync_directories(fresh)

    def rename(self, src: str, dst: str) -> bool:
        source, target = _local(src), _local(dst)
        with translate_errors(f"rename {src} to {dst}: access", src):
            if os.path.lexists(target):
                return False
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                if source.is_dir():
                    source.rename(target)
                elif _link(source, target):
                    source.unlink()
                else:
                    return False
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                source.rename(target)
            # The new name first: one of the two names is durable at any moment.
            self._sync_directories([target.parent])
            self._sync_directories({source.parent} - {target.parent})
            return True

    def size(self, path: str) -> int:
        with translate_errors("access", path):
            return _local(path).stat().st_size

    def read_bytes(self, path: str) -> bytes:
        with translate_errors("read", path):
            target = _local(path)
            base.check_size(_regular_size(target, path), path)
            return target.read_bytes()

    def link_below(self, root: str, path: str) -> str | None:
        top, parent = _local(root), _local(parent_of(path))
        if not parent.is_relative_to(top):
            return None
        for part in parent.relative_to(top).parts:
            top /= part
            if top.is_symlink():
                return str(top)
        return None


def _local(path: str) -> Path:
    return Path(local_path(path))


def _regular_size(target: Path, path: str) -> int:
    """Return the size of a file in bytes.

    Raises:
        CorruptFileError: it is a pipe or device, which would block a reader forever.
    """
    found = target.stat()
    if not (S_ISREG(found.st_mode) or S_ISDIR(found.st_mode)):
        raise CorruptFileError("it is not a regular file", path=path)
    return found.st_size


def _possibly_created_above(directory: Path, top: Path) -> Iterator[Path]:
    """The directories above one that may have been created with it: up to ``top``, or all writable ones elsewhere."""
    for up in directory.parents:
        if top in directory.parents and not (up == top or top in up.parents):
            return
        if os.access(up, os.R_OK | os.W_OK):
            yield up


def _link(source: Path, target: Path) -> bool:
    """Hard-link a file to a free name; unlike a rename, a link never replaces a file."""
    with suppress(FileExistsError):
        target.hardlink_to(source)
        return True
    return False


def _write_temporary(target: Path, data: bytes, *, durable: bool) -> tuple[Path, list[Path]]:
    """Write a file beside its target; return it, and the directories in which a directory was created for it."""
    temporary = Path(temporary_sibling(target.as_posix()))
    fresh: list[Path] = []
    try:
        try:
            _write(temporary, data, durable=durable)
        except FileNotFoundError:
            fresh = _missing_above(target)
            temporary.parent.mkdir(parents=True, exist_ok=True)
            _write(temporary, data, durable=durable)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary, fresh


def _missing_above(file: Path) -> list[Path]:
    """The parents of the directories that must be created before the file."""
    return [directory.parent for directory in file.parents if not directory.exists()]


def _write(file: Path, data: bytes, *, durable: bool) -> None:
    with file.open("wb") as stream:
        stream.write(data)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())


def _sync_file(file: Path) -> None:
    descriptor = os.open(file, _FLUSHABLE)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _directory_lock(directory: Path) -> Iterator[bool]:
    """Lock a directory against replacements of its files by other processes, if its file system has locks.

    Yields whether the directory exists. The wait for a process that hangs with the lock is limited, since the caller
    compares contents in any case.
    """
    if fcntl is None:
        yield directory.is_dir()
        return
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield False
        return
    try:
        _lock_with_timeout(descriptor)
        yield directory.is_dir()
    finally:
        os.close(descriptor)


def _lock_with_timeout(descriptor: int) -> bool:
    """Whether the lock was acquired within the timeout, or the file system has none."""
    deadline = time.monotonic() + _LONGEST_HELD
    while not (acquired := _locked(descriptor)) and time.monotonic() < deadline:
        time.sleep(_POLL_INTERVAL)
    return acquired


def _locked(descriptor: int) -> bool:
    """Whether the lock was acquired, or the file system has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _LOCK_HELD
    return True


def _is_at(descriptor: int, target: Path) -> bool:
    """Whether the open file still has the name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), target.stat())
    return False


def _status(path: str, found: os.stat_result, is_link: bool = False) -> FileStatus:
    is_dir = S_ISDIR(found.st_mode)
    return FileStatus.of(path, found.st_size, found.st_mtime_ns, is_dir, is_link)


def _entries(path: str) -> Iterator[FileStatus]:
    try:
        scan = os.scandir(_local(path))
    except _MISSING:
        return
    with scan:  # an error from here on must not pass for the end of the directory
        for entry in scan:
            with suppress(FileNotFoundError):  # deleted since the directory was opened, or a dangling link
                yield _status(join(path, entry.name), entry.stat(), entry.is_symlink())

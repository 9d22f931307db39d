"""Files of the machine itself: plain paths and ``file:`` URIs."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR

import pyarrow as pa

from paimon_sql.storage.file_io.base import FileIO, FileStatus
from paimon_sql.storage.file_io.paths import join, name_of, temporary_sibling, without_scheme
from paimon_sql.storage.file_io.refusals import MAKE_DIRECTORY, no_exclusive_create, refusals

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST)


class LocalFileIO(FileIO):
    """The local file system; a path may have the scheme ``file`` and comes back from listings as it was given."""

    def can_create_exclusively(self, path: str) -> bool:
        return True

    def is_object_store(self, path: str) -> bool:
        return False

    def open_input(self, path: str) -> pa.NativeFile:
        with refusals("read", path):
            return pa.OSFile(str(_local(path)), "rb")

    def open_output(self, path: str) -> pa.NativeFile:
        target = _local(path)
        with refusals("write", path):
            try:
                return pa.OSFile(str(target), "wb")
            except FileNotFoundError:
                target.parent.mkdir(parents=True, exist_ok=True)
                return pa.OSFile(str(target), "wb")

    def write_bytes(self, path: str, data: bytes) -> None:
        target = _local(path)
        with refusals("write", path):
            temporary = _write_temporary(target, data)
            try:
                temporary.replace(target)
            except OSError:
                temporary.unlink()
                raise

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        target = _local(path)
        with refusals("create", path):
            if os.path.lexists(target):
                return False
            temporary = _write_temporary(target, data)
            try:
                return _link(temporary, target)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if not locked:
                    raise no_exclusive_create(path, "its file system has no hard links") from error
                temporary.rename(target)
                return True
            finally:
                temporary.unlink(missing_ok=True)

    def status(self, path: str) -> FileStatus | None:
        with refusals("look at", path):
            try:
                return _status(path, _local(path).stat())
            except (FileNotFoundError, NotADirectoryError):
                return None

    def list(self, path: str) -> list[FileStatus]:
        with refusals("list", path):
            return sorted(_entries(path), key=lambda status: status.name)

    def walk(self, path: str) -> Iterator[FileStatus]:
        for entry in self.list(path):
            if entry.is_dir:
                yield from self.walk(entry.path)
            else:
                yield entry

    def delete(self, path: str) -> bool:
        with refusals("delete", path):
            try:
                _local(path).unlink()
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        with refusals("delete", path):
            try:
                if recursive:
                    shutil.rmtree(_local(path))
                else:
                    _local(path).rmdir()
            except FileNotFoundError:
                return False
            except OSError as error:
                if error.errno in _OCCUPIED:
                    return False
                raise
            return True

    def mkdirs(self, path: str) -> None:
        with refusals(MAKE_DIRECTORY, path):
            _local(path).mkdir(parents=True, exist_ok=True)

    def rename(self, src: str, dst: str) -> bool:
        source, target = _local(src), _local(dst)
        with refusals(f"rename {src} to {dst}: look at", src):
            if os.path.lexists(target):
                return False
            target.parent.mkdir(parents=True, exist_ok=True)
            if not source.is_dir():
                try:
                    if not _link(source, target):
                        return False
                    source.unlink()
                    return True
                except OSError as error:
                    if error.errno not in _NO_LINKS:
                        raise
            source.rename(target)
            return True

    def size(self, path: str) -> int:
        with refusals("look at", path):
            return _local(path).stat().st_size

    def read_bytes(self, path: str) -> bytes:
        with refusals("read", path):
            return _local(path).read_bytes()


def _local(path: str) -> Path:
    return Path(without_scheme(path)[1] or "/")


def _link(source: Path, target: Path) -> bool:
    """Give a file a second name if that is free; a link is made whole and never over another, unlike a rename."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        return False
    return True


def _write_temporary(target: Path, data: bytes) -> Path:
    temporary = Path(temporary_sibling(str(target)))
    try:
        try:
            temporary.write_bytes(data)
        except FileNotFoundError:
            temporary.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _status(path: str, found: os.stat_result) -> FileStatus:
    is_dir = S_ISDIR(found.st_mode)
    return FileStatus(path, name_of(path), 0 if is_dir else found.st_size, found.st_mtime_ns // 1_000_000, is_dir)


def _entries(path: str) -> Iterator[FileStatus]:
    try:
        scan = os.scandir(_local(path))
    except (FileNotFoundError, NotADirectoryError):
        return
    with scan:
        for entry in scan:
            try:
                yield _status(join(path, entry.name), entry.stat())
            except FileNotFoundError:
                continue  # removed by another process since the directory was opened, or a dangling link

"""File systems of Arrow: S3 and compatible stores, Google Cloud Storage, Azure, HDFS, and those of fsspec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

import pyarrow as pa
import pyarrow.fs as pafs

from paimon_sql.cache import Cache
from paimon_sql.errors import MissingFileError, UnsupportedError
from paimon_sql.process import share
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import backends
from paimon_sql.storage.file_io.base import FileIO, FileStatus, no_exclusive_create, translate_errors
from paimon_sql.storage.file_io.paths import S3_SCHEMES, join, parent_of, temporary_sibling, without_scheme
from paimon_sql.storage.file_io.s3 import S3Backend

_MAX_OPEN = 64
_BACKENDS: dict[str, backends.Backend] = {
    **dict.fromkeys(S3_SCHEMES, S3Backend()),
    "oss": backends.OssBackend(),
    "gs": backends.GcsBackend(),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), backends.AzureBackend()),
    **dict.fromkeys(("hdfs", "viewfs"), backends.HdfsBackend()),
}


def register_backend(scheme: str, backend: backends.Backend) -> None:
    """Register the file system of a scheme."""
    _BACKENDS[scheme] = backend


def backend_of(scheme: str) -> backends.Backend:
    """Return the backend of a scheme.

    Raises:
        UnsupportedError: neither Arrow nor an installed fsspec knows the scheme.
    """
    if scheme in _BACKENDS:
        return _BACKENDS[scheme]
    if not backends.has_fsspec(scheme):
        raise UnsupportedError(
            f"Unsupported file system scheme '{scheme}'.",
            remedy=f"Supported are file, {', '.join(sorted(_BACKENDS))}, and those of fsspec if it is installed.",
        )
    return backends.FsspecBackend(scheme)


_THREADS = 8
"""Number of objects that are moved concurrently."""


class ArrowFileIO(FileIO):
    """The file system of one scheme and authority, created from the catalog's options on first use.

    Args:
        scheme: such as ``s3``.
        authority: the part between ``//`` and the next ``/``: a bucket, or host and port.
        options: the catalog's options; those of the scheme (``s3.*``, ``fs.*``) are passed on.
    """

    def __init__(self, scheme: str, authority: str = "", options: Mapping[str, str] | None = None) -> None:
        self.scheme = scheme
        self.authority = authority
        self.options: dict[str, str] = dict(options or {})

    def __reduce__(self) -> tuple[type[ArrowFileIO], tuple[str, str, dict[str, str]]]:
        return type(self), (self.scheme, self.authority, self.options)

    @cached_property
    def _backend(self) -> backends.Backend:
        return backend_of(self.scheme)

    @cached_property
    def _opened(self) -> _OpenFileSystem:
        key, given = (self.scheme, self.authority, frozenset(self.options.items())), (self.authority, self.options)
        backend = self._backend
        with translate_errors("open", f"{self.scheme}://{self.authority}"):
            return _file_systems().compute(key, lambda: (backend.open(*given), backend.objects(*given)))

    @property
    def _fs(self) -> pafs.FileSystem:
        return self._opened[0]

    @property
    def _objects(self) -> backends.Objects | None:
        return self._opened[1]

    def can_create_exclusively(self, path: str) -> bool:
        return self._objects is not None

    def is_object_store(self, path: str) -> bool:
        return self._backend.object_store

    def _inner(self, path: str) -> str:
        authority, rest = without_scheme(path)
        return self._backend.inner(authority, rest)

    def open_input(self, path: str) -> pa.NativeFile:
        with translate_errors("read", path):
            return self._fs.open_input_file(self._inner(path))

    def open_output(self, path: str) -> pa.NativeFile:
        with translate_errors("write", path):
            if not self._backend.object_store:
                self._fs.create_dir(self._inner(parent_of(path)), recursive=True)
            return self._fs.open_output_stream(self._inner(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        with translate_errors("write", path):
            # An object becomes visible when its upload is complete.
            written = path if self._backend.object_store else temporary_sibling(path)
            with self.open_output(written) as stream:
                stream.write(data)
            if written != path:
                self._fs.move(self._inner(written), self._inner(path))

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        with translate_errors("create", path):
            why = self._backend.why_not
            if self._objects is not None:
                try:
                    return self._objects.create(self._inner(path), data)
                except backends.ConditionRefusedError:
                    why = "the store does not support conditional puts"
            if not locked:
                raise no_exclusive_create(path, why)
            if self.exists(path):
                return False
            self.write_bytes(path, data)
            return True

    def status(self, path: str) -> FileStatus | None:
        with translate_errors("access", path):
            info = self._fs.get_file_info(self._inner(path))
        return None if info.type == pafs.FileType.NotFound else _status(path, info)

    def list(self, path: str) -> list[FileStatus]:
        with translate_errors("list", path):
            found = self._fs.get_file_info(pafs.FileSelector(self._inner(path), allow_not_found=True))
        return sorted((_status(join(path, i.base_name), i) for i in found), key=lambda status: status.name)

    def walk(self, path: str) -> Iterator[FileStatus]:
        # Some file systems return a leading slash that the request did not have.
        top = self._inner(path).strip("/")
        with translate_errors("list", path):
            found = self._fs.get_file_info(pafs.FileSelector(self._inner(path), allow_not_found=True, recursive=True))
        entries = (_status(join(path, info.path.strip("/")[len(top) :]), info) for info in found)
        yield from (entry for entry in entries if not entry.is_dir)

    def delete(self, path: str) -> bool:
        with translate_errors("delete", path):
            if self._objects is not None and self._objects.remove([self._inner(path)]):
                return True
            with suppress(FileNotFoundError, MissingFileError):
                # An object store reports success for a missing object: a check before would only cost a request.
                if self._backend.object_store or self.exists(path):
                    self._fs.delete_file(self._inner(path))
                    return True
            return False

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        with translate_errors("delete", path):
            done = None if self._objects is None else self._objects.remove_if(self._inner(path), is_meant)
        return super().delete_if(path, is_meant, durable=durable) if done is None else done

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        targets = list(paths)
        if not targets or self._objects is None:
            return super().delete_many(targets, threads)
        shown = targets[0] if len(targets) == 1 else f"{len(targets)} files, including {targets[0]}"
        with translate_errors("delete", shown):
            if self._objects.remove([self._inner(path) for path in targets]):
                return len(targets)
        return super().delete_many(targets, threads)

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        with translate_errors("delete", path):
            found = self.status(path)
            if found is None or (not recursive and self.list(path)):
                return False
            self._fs.delete_dir(self._inner(path))
            return True

    def mkdirs(self, path: str) -> None:
        with translate_errors("create the directory", path):
            self._fs.create_dir(self._inner(path), recursive=True)

    def rename(self, src: str, dst: str) -> bool:
        with translate_errors(f"rename {src} to {dst}: access", src):
            if self.exists(dst):
                return False
            found = self.status(src)
            if found is None:
                raise FileNotFoundError(src)
            if self._backend.object_store:
                entries = list(self.walk(src)) if found.is_dir else [found]
                moves = [(entry.path, f"{dst}{entry.path[len(src) :]}") for entry in entries]
                map_in_threads(lambda move: self.copy(*move), moves, _THREADS)
                self.delete_many(origin for origin, _ in moves)
                return True
            self.mkdirs(parent_of(dst))
            self._fs.move(self._inner(src), self._inner(dst))
            return True

    def copy(self, source: str, target: str) -> None:
        with translate_errors(f"copy {source} to", target):
            origin, copy = self._inner(source), self._inner(target)
            if self._objects is None or not self._objects.copy(origin, copy):
                self._fs.copy_file(origin, copy)

    def size(self, path: str) -> int:
        with translate_errors("access", path):
            found = self.status(path)
            if found is None:
                raise FileNotFoundError(path)
            return found.size


_OpenFileSystem = tuple[pafs.FileSystem, backends.Objects | None]
_left: list[object] = []
"""File systems of a parent process: destroying them here would wait for their threads, which exist only there."""
_file_systems = share(
    lambda: Cache[tuple[str, str, frozenset[tuple[str, str]]], _OpenFileSystem](_MAX_OPEN), leave=_left.append
)
"""The open file systems, whose connections all tables share, by scheme, authority and options."""


def _status(path: str, info: pafs.FileInfo) -> FileStatus:
    return FileStatus.of(path, info.size, info.mtime_ns, info.type == pafs.FileType.Directory)

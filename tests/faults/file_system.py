"""A file system that lets a driver decide at each operation: who goes on, and what goes wrong."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from paimon_sql.storage.file_io import FileIO, FileStatus, LocalFileIO
from paimon_sql.storage.file_io.base import no_exclusive_create
from paimon_sql.storage.file_io.paths import parent_of
from tests.faults.injected import Call, Fault, Killed, Process

R = TypeVar("R")


class Driver(ABC):
    """Decides about file operations.

    Attributes:
        final: whether an operation that failed has had no effect and will have none, as on a disk.
        exclusive: whether files can be created exclusively without a lock.
    """

    final: bool = True
    exclusive: bool = True

    @abstractmethod
    def before(self, call: Call) -> Fault | None:
        """A call is about to be made: the fault that is to happen to it."""

    @abstractmethod
    def done(self, call: Call) -> None:
        """The effect of a call that changes files has just happened, and nothing else since."""

    @abstractmethod
    def after(self, call: Call) -> None:
        """A call that changes files is about to answer."""

    @abstractmethod
    def later(self, effect: Callable[[], Any]) -> None:
        """An effect is to happen later."""


class FaultyFileIO(FileIO):
    """The local file system as one process sees it.

    Args:
        driver: decides.
        process: who uses it.
    """

    def __init__(self, driver: Driver, process: Process) -> None:
        self.driver = driver
        self.process = process
        self._inner = LocalFileIO()
        self._asking = threading.local()

    def _do(
        self, operation: str, path: str, effect: Callable[[], R], *, changes: bool = False, data: bytes | None = None
    ) -> R:
        if self.process.is_dead:
            raise Killed
        if getattr(self._asking, "now", False):
            return effect()

        def observed() -> R:
            answer = effect()
            if changes:
                self.driver.done(call)
            return answer

        call = Call(operation, path, changes, observed, self.process, self.process.token, data, self.driver.later)
        fault = self.driver.before(call)
        if self.process.is_dead:
            raise Killed
        answer: R = call.effect() if fault is None else fault.inject(call)
        if changes:
            self.driver.after(call)
        return answer

    def can_create_exclusively(self, path: str) -> bool:
        return self.driver.exclusive

    def is_object_store(self, path: str) -> bool:
        return False

    def failures_are_final(self, path: str) -> bool:
        return self.driver.final

    def open_input(self, path: str) -> pa.NativeFile:
        return self._do("read", path, lambda: self._inner.open_input(path))

    def open_output(self, path: str) -> pa.NativeFile:
        return self._do("open", path, lambda: self._inner.open_output(path), changes=True, data=b"PAR1")

    def read_bytes(self, path: str) -> bytes:
        return self._do("read", path, lambda: self._inner.read_bytes(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        self._do("write", path, lambda: self._inner.write_bytes(path, data), changes=True, data=data)

    def write_durably(self, path: str, data: bytes) -> None:
        self._do("write", path, lambda: self._inner.write_durably(path, data), changes=True, data=data)

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        if not self.driver.exclusive:
            if not locked:
                raise no_exclusive_create(path, "the store of this round has no conditional creation")
            if self.exists(path):
                return False
            # Whoever has lost the lock meanwhile writes over what others have made.
            self._do("overwrite", path, lambda: self._inner.write_durably(path, data), changes=True, data=data)
            return True
        return self._do(
            "create",
            path,
            lambda: self._inner.try_create_exclusive(path, data, locked=locked),
            changes=True,
            data=data,
        )

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        if not self.driver.final:
            # Stores compare, and then write: others may come in between.
            return super().replace_if(path, expected, data, durable=durable)
        return self._do(
            "replace",
            path,
            lambda: self._inner.replace_if(path, expected, data, durable=durable),
            changes=True,
            data=data,
        )

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        def meant(data: bytes) -> bool:
            self._asking.now = True  # what is looked at meanwhile is part of the operation
            try:
                return is_meant(data)
            finally:
                self._asking.now = False

        asked: Callable[[bytes], bool] = meant
        if not self.driver.final:
            # The request says which content is meant, which decides when it is carried out.
            content = self.read_if_exists(path)
            if content is None or not is_meant(content):
                return False
            asked = content.__eq__
        done = self._do("delete", path, lambda: self._inner.delete_if(path, asked), changes=True)
        if done and durable:
            self.sync_directory(parent_of(path))
        return done

    def sync_directory(self, path: str) -> None:
        self._do("sync", path, lambda: self._inner.sync_directory(path), changes=True)

    def sync(self, paths: Iterable[str], root: str) -> None:
        files = list(paths)
        self._do("sync", root, lambda: self._inner.sync(files, root), changes=True)

    def status(self, path: str) -> FileStatus | None:
        return self._do("status", path, lambda: self._inner.status(path))

    def list(self, path: str) -> list[FileStatus]:
        return self._do("list", path, lambda: self._inner.list(path))

    def walk(self, path: str) -> Iterator[FileStatus]:
        for entry in self.list(path):
            if entry.is_dir and not entry.is_link:
                yield from self.walk(entry.path)
            else:
                yield entry

    def delete(self, path: str) -> bool:
        return self._do("delete", path, lambda: self._inner.delete(path), changes=True)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        return sum([self.delete(path) for path in list(paths)])

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        if recursive:
            for entry in self._inner.list(path):
                if entry.is_dir and not entry.is_link:
                    self.delete_dir(entry.path, recursive=True)
                else:
                    self.delete(entry.path)
        return self._do("remove", path, lambda: self._inner.delete_dir(path), changes=True)

    def mkdirs(self, path: str) -> None:
        self._do("make", path, lambda: self._inner.mkdirs(path), changes=True)

    def rename(self, src: str, dst: str) -> bool:
        return self._do("rename", dst, lambda: self._inner.rename(src, dst), changes=True)

    def copy(self, source: str, target: str) -> None:
        self._do("copy", target, lambda: self._inner.copy(source, target), changes=True)

    def size(self, path: str) -> int:
        return self._do("status", path, lambda: self._inner.size(path))

    def link_below(self, root: str, path: str) -> str | None:
        return self._inner.link_below(root, path)

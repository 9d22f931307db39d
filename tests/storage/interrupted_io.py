"""A local file system that counts what changes it, and at one of these changes stops or lets something else happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_sql.storage.file_io import FileStatus, LocalFileIO


class Crash(BaseException):
    """The process ends here."""


class InterruptedFileIO(LocalFileIO):
    """Calls ``interrupt`` before the operation of number ``at``; one thread does all the work.

    Counted is what changes files, and ``also`` what is named there: ``list``, ``read``.
    """

    def __init__(
        self, at: int | None = None, interrupt: Callable[[], object] | None = None, *, also: tuple[str, ...] = ()
    ) -> None:
        self.at = at
        self.count = 0
        self.interrupt: Callable[[], object] = interrupt or self._crash
        self.also = also

    def _crash(self) -> None:
        raise Crash

    def _step(self) -> None:
        if self.at == self.count:
            self.at = None
            self.interrupt()
        self.count += 1

    def delete(self, path: str) -> bool:
        self._step()
        return super().delete(path)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self._step()
        return super().delete_if(path, is_meant, durable=durable)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        return sum(map(self.delete, list(paths)))

    def write_bytes(self, path: str, data: bytes) -> None:
        self._step()
        super().write_bytes(path, data)

    def write_durably(self, path: str, data: bytes) -> None:
        self._step()
        super().write_durably(path, data)

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        self._step()
        return super().try_create_exclusive(path, data, locked=locked)

    def list(self, path: str) -> list[FileStatus]:
        if "list" in self.also:
            self._step()
        return super().list(path)

    def read_bytes(self, path: str) -> bytes:
        if "read" in self.also:
            self._step()
        return super().read_bytes(path)

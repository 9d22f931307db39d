"""Local file systems that die, lose answers or refuse, for tests of what a commit survives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.storage.file_io import FileStatus, LocalFileIO


class Died(BaseException):
    """The process ends here."""


class MortalFileIO(LocalFileIO):
    """Dies before the operation of number ``at``, and does nothing any more from then on.

    ``torn`` dies in the middle instead: half of a file is there under a temporary name, as a local write leaves it.
    """

    def __init__(self, at: int, *, torn: bool = False) -> None:
        self.at = at
        self.count = 0
        self.torn = torn

    def _step(self, path: str | None = None, data: bytes = b"") -> None:
        self.count += 1
        if self.count > self.at:
            if self.torn and path is not None and self.count == self.at + 1:
                folder, _, name = path.rpartition("/")
                super().write_bytes(f"{folder}/.{name}.torn.tmp", data[: len(data) // 2])
            raise Died

    def open_input(self, path: str) -> pa.NativeFile:
        self._step()
        return super().open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        self._step()
        return super().open_output(path)

    def read_bytes(self, path: str) -> bytes:
        self._step()
        return super().read_bytes(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._step(path, data)
        super().write_bytes(path, data)

    def write_durably(self, path: str, data: bytes) -> None:
        self._step(path, data)
        super().write_durably(path, data)

    def sync(self, paths: Iterable[str], root: str) -> None:
        self._step()
        super().sync(paths, root)

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        self._step(path, data)
        return super().try_create_exclusive(path, data, locked=locked)

    def list(self, path: str) -> list[FileStatus]:
        self._step()
        return super().list(path)

    def delete(self, path: str) -> bool:
        self._step()
        return super().delete(path)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self._step()
        return super().delete_if(path, is_meant, durable=durable)

    def delete_many(self, paths: Iterable[str], threads: int = 8) -> int:
        return sum(map(self.delete, list(paths)))


class UncertainFileIO(LocalFileIO):
    """Creates snapshots, but its answer is another.

    Args:
        answer: what is said: "error" or "taken".
        creates: whether the snapshot's file is really created.
        readable: whether snapshots can be read afterwards.
        remote: whether this is an object store.
        times: how many answers are lost.
    """

    def __init__(
        self, answer: str, *, creates: bool = True, readable: bool = True, remote: bool = False, times: int = 1
    ) -> None:
        self.answer = answer
        self.creates = creates
        self.readable = readable
        self.remote = remote
        self.times = times
        self.deleted: list[str] = []
        self._blind = False

    def is_object_store(self, path: str) -> bool:
        return self.remote

    def failures_are_final(self, path: str) -> bool:
        return not self.remote

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        if not self.times or "/snapshot/" not in path:
            return super().try_create_exclusive(path, data, locked=locked)
        self.times -= 1
        self._blind = not self.readable
        if self.creates:
            assert super().try_create_exclusive(path, data, locked=locked)
        if self.answer == "error":
            raise PaimonError(f"Cannot create {path}: connection reset.")
        return False

    def read_bytes(self, path: str) -> bytes:
        if self._blind and "/snapshot/" in path:
            raise PaimonError(f"Cannot read {path}: connection reset.")
        return super().read_bytes(path)

    def delete(self, path: str) -> bool:
        self.deleted.append(path)
        return super().delete(path)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self.deleted.append(path)
        return super().delete_if(path, is_meant, durable=durable)

"""A disk that says what would be on it after a loss of power, at any moment of a run that goes on.

Watched are the flushes of files and of directories (``os.fsync``). A file's content is safe once the file was flushed,
a name once its directory was. Whatever else has happened may be lost, each change apart from all others: a new name, a
removed one, one that another file took; a file that was not flushed is empty, torn, zeros or whole. That is what POSIX
allows; journals of real file systems allow less. A directory that got another name has the old one or the new one.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from paimon_sql.storage.file_io import LocalFileIO

R = TypeVar("R")

LOST, KEPT, MIXED, ENTRIES = "lost", "kept", "mixed", "entries"
"""All that was not flushed is lost; all is kept; each change is lost or kept; the same, with the content whole."""
_FSYNC = os.fsync


@dataclass
class WatchedDisk:
    """Watches a directory, which is taken for safe as it is now.

    Args:
        root: the directory.
        pins: a directory beside it on the same device, for second names: a number of a file is not used again then.
        moment: called whenever something is about to change, so that a loss of power there can be looked at.
    """

    root: Path
    pins: Path
    moment: Callable[[], None] = lambda: None
    _content: dict[int, bytes] = field(default_factory=dict)
    _names: dict[int, dict[str, int]] = field(default_factory=dict)
    _folders: dict[int, int] = field(default_factory=dict)
    """An open descriptor for each directory that was flushed, as directories cannot have second names."""

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.pins.mkdir(parents=True)
        self.settle()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch all flushes; nothing is really flushed meanwhile."""
        os.fsync = self._fsync  # type: ignore[assignment]
        try:
            yield
        finally:
            os.fsync = _FSYNC
            for descriptor in self._folders.values():
                os.close(descriptor)

    def _fsync(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path == self.root or self.root in path.parents:
            self.moment()
            self._flushed(path)

    def settle(self) -> None:
        """Let all that is there now be safe."""
        for path in (self.root, *self.root.rglob("*")):
            self._flushed(path)

    def _flushed(self, path: Path) -> None:
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            self._pin(path, found.st_ino)
            self._content[found.st_ino] = path.read_bytes()
            return
        names: dict[str, int] = {}
        for entry in os.scandir(path):
            names[entry.name] = entry.inode()
            self._pin(Path(entry.path), entry.inode())
        self._pin(path, found.st_ino)
        self._names[found.st_ino] = names

    def _pin(self, path: Path, number: int) -> None:
        if not path.is_dir():
            with suppress(FileExistsError):
                os.link(path, self.pins / str(number))
        elif number not in self._folders:
            self._folders[number] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def image(self, target: Path, how: str, chance: random.Random) -> Path:
        """Write the directory as it is after a loss of power now.

        Args:
            target: where, a new directory.
            how: `LOST`, `KEPT`, `MIXED` or `ENTRIES`.
            chance: decides what is lost.
        """
        there = {self.root.stat().st_ino: self.root}
        for folder, names, _ in os.walk(self.root):
            there.update((path.stat().st_ino, path) for path in (Path(folder, name) for name in names))
        _Image(self, there, how, chance).folder(self.root.stat().st_ino, target)
        return target


@dataclass
class _Image:
    """One state of a disk: which of its directories stand where now, and those that were written already."""

    disk: WatchedDisk
    there: dict[int, Path]
    how: str
    chance: random.Random
    written: set[int] = field(default_factory=set)
    moved: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Where a directory stands that got another name: file systems rename in one step."""

    def __post_init__(self) -> None:
        before = {n: (f, name) for f, names in self.disk._names.items() for name, n in names.items()}
        for number, path in self.there.items():
            now = path.parent.stat().st_ino, path.name
            if before.get(number, now) != now:
                self.moved[number] = self._either(before[number], now)

    def folder(self, number: int, target: Path) -> None:
        self.written.add(number)
        target.mkdir(parents=True)
        safe = self.disk._names.get(number, {})
        now = {e.name: e.inode() for e in os.scandir(self.there[number])} if number in self.there else {}
        for name in sorted({*safe, *now}):
            chosen = self._chosen((number, name), safe.get(name), now.get(name))
            if chosen is None or chosen in self.written:
                continue
            if self._is_folder(chosen):
                self.folder(chosen, target / name)
            else:
                (target / name).write_bytes(self._bytes(chosen, number, name))

    def _chosen(self, place: tuple[int, str], safe: int | None, now: int | None) -> int | None:
        for number in (now, safe):
            if number in self.moved and self.moved[number] == place:
                return number
        safe, now = (None if number in self.moved else number for number in (safe, now))
        return now if safe == now else self._either(safe, now)

    def _either(self, safe: R, now: R) -> R:
        if self.how in (LOST, KEPT):
            return safe if self.how == LOST else now
        return self.chance.choice([safe, now])

    def _is_folder(self, number: int) -> bool:
        return number in self.there or number in self.disk._folders

    def _bytes(self, number: int, folder: int, name: str) -> bytes:
        if number in self.disk._content:
            return self.disk._content[number]
        pinned = self.disk.pins / str(number)
        data = (pinned if pinned.exists() else self.there[folder] / name).read_bytes()
        if self.how in (KEPT, ENTRIES):
            return data
        return self.chance.choice([b"", data[: self.chance.randrange(len(data) + 1)], bytes(len(data)), data])


class WatchedFileIO(LocalFileIO):
    """The local file system over such a disk: each change is a moment, and so is each flush."""

    def __init__(self, disk: WatchedDisk) -> None:
        super().__init__()
        self._disk = disk

    def open_output(self, path: str) -> pa.NativeFile:
        self._disk.moment()
        return super().open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._disk.moment()
        super().write_bytes(path, data)

    def replace_if(self, path: str, expected: bytes | None, data: bytes, *, durable: bool = False) -> bool:
        self._disk.moment()
        return super().replace_if(path, expected, data, durable=durable)

    def sync(self, paths: Iterable[str], root: str) -> None:
        self._disk.moment()
        super().sync(paths, root)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self._disk.moment()
        return super().delete_if(path, is_meant, durable=durable)

    def delete(self, path: str) -> bool:
        self._disk.moment()
        return super().delete(path)

    def delete_many(self, paths: Iterable[str], threads: int = 1) -> int:
        return sum([self.delete(path) for path in list(paths)])

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        self._disk.moment()
        return super().delete_dir(path, recursive)

    def mkdirs(self, path: str) -> None:
        self._disk.moment()
        super().mkdirs(path)

    def rename(self, src: str, dst: str) -> bool:
        self._disk.moment()
        return super().rename(src, dst)

"""A disk whose power fails: what was not flushed by then is lost, torn or undone."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_REAL_FSYNC = os.fsync


class Disk:
    """Watches what is flushed below a directory, and can lose the rest.

    A file's content is safe once the file was flushed, its name once its directory was. Files that were safe are kept
    under a second name elsewhere, so that a change that was not flushed can be undone.

    Args:
        root: the directory.
        safe: a directory beside it, on the same device, for second names.
    """

    def __init__(self, root: Path, safe: Path) -> None:
        self.root = root
        self._safe = safe
        self._whole: set[int] = set()
        self._entries: dict[int, dict[str, int]] = {}  # by the directory's inode, as directories are renamed
        self.flushes = 0
        self._removed: list[str] = []
        safe.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch all flushes; nothing is really flushed meanwhile."""
        os.fsync = self._flushed  # type: ignore[assignment]
        try:
            yield
        finally:
            os.fsync = _REAL_FSYNC

    def forget(self, path: str) -> None:
        """A name is gone; the removal is undone unless something is flushed before the power fails.

        Journals of file systems keep the order of changes: whatever is flushed later takes this one along.
        """
        self._removed.append(path)

    def _settle_removals(self) -> None:
        for path in self._removed:
            folder, _, name = path.rpartition("/")
            if not os.path.lexists(path):
                self._entries.get(_inode(folder), {}).pop(name, None)
        self._removed.clear()

    def _flushed(self, descriptor: int) -> None:
        self._settle_removals()
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if not path.startswith(str(self.root)):
            return
        self.flushes += 1
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._entries[found.st_ino] = entries = {}
            with os.scandir(path) as scan:
                for entry in scan:
                    number = entry.inode()
                    entries[entry.name] = number
                    if entry.is_file(follow_symlinks=False):
                        self._keep(entry.path, number)
        else:
            self._whole.add(found.st_ino)
            with suppress(FileNotFoundError):
                self._keep(path, found.st_ino)

    def settle(self) -> None:
        """Let everything that is there be safe, as some time after the last change."""
        for folder, _, names in os.walk(self.root):
            for name in (*names, "."):
                descriptor = os.open(Path(folder, name), os.O_RDONLY)
                self._flushed(descriptor)
                os.close(descriptor)

    def _keep(self, path: str, number: int) -> None:
        with suppress(FileExistsError):
            os.link(path, self._safe / str(number))

    def fail(self, chance: random.Random) -> str:
        """Let the power fail, and come back: how much was lost.

        - ``all``: every change of names that was not flushed is undone;
        - ``new``: new names that were not flushed are gone, what was deleted stays deleted;
        - ``some``: each new name that was not flushed is gone or not;
        - ``content``: all names are there, but files that were not flushed are torn.
        """
        how = chance.choice(["all", "new", "some", "content"])
        self._fail(str(self.root), how, chance)
        self.settle()
        return how

    def _fail(self, folder: str, how: str, chance: random.Random) -> None:
        safe = self._entries.get(_inode(folder), {})
        there: dict[str, os.DirEntry[str]] = {}
        with os.scandir(folder) as scan:
            for entry in scan:
                there[entry.name] = entry
        for name in sorted(there):
            entry = there[name]
            kept = safe.get(name) == entry.inode() or self._survives(how, chance)
            if not kept:
                self._undo(entry, safe.get(name))
            elif entry.is_dir(follow_symlinks=False):
                self._fail(entry.path, how, chance)
            elif entry.inode() not in self._whole:
                self._tear(Path(entry.path), chance)
        if how == "all":
            for name in sorted(set(safe) - set(there)):
                second = self._safe / str(safe[name])
                if second.exists():
                    os.link(second, Path(folder, name))

    def _survives(self, how: str, chance: random.Random) -> bool:
        return how == "content" or (how == "some" and chance.random() < 0.5)

    def _undo(self, entry: os.DirEntry[str], before: int | None) -> None:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            Path(entry.path).unlink()
        second = self._safe / str(before)
        if before is not None and second.exists():
            os.link(second, entry.path)

    def _tear(self, file: Path, chance: random.Random) -> None:
        size = file.stat().st_size
        how = chance.choice(["empty", "half", "zeros", "whole"])
        if how == "whole":
            return
        # A new file in its place: other names of the old one keep what they have.
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(b"" if how == "empty" else data[: size // 2] if how == "half" else bytes(size))


def _inode(path: str) -> int:
    try:
        return Path(path).stat().st_ino
    except FileNotFoundError:
        return -1

"""Locks that a catalog holds for its tables, for whoever makes the next metadata file of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass


class TableLock(ABC):
    """What keeps the other writers of a table away for a moment; an instance can be pickled."""

    @abstractmethod
    def held(self, branch: str) -> AbstractContextManager[bool]:
        """Hold the lock of a branch: whether there is one. It cannot be taken twice.

        Raises:
            CommitConflictError: others held it for too long; nothing was changed.
        """


@dataclass(frozen=True)
class Unlocked(TableLock):
    """No lock: the file system itself creates files exclusively."""

    @contextmanager
    def held(self, branch: str) -> Iterator[bool]:
        yield False


UNLOCKED = Unlocked()

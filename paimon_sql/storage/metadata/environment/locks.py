"""Locks that a catalog holds for its tables, for whoever makes the next metadata file of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass


class HeldLock(ABC):
    """A lock that its holder was given; it can be lost while it is held, as locks expire.

    Attributes:
        is_locked: whether there is a lock at all; without one the file system itself creates files exclusively.
    """

    is_locked: bool = True

    @abstractmethod
    def confirm(self) -> None:
        """Make sure that the lock is still held, and let its time begin anew where the catalog can.

        To be called immediately before a file is written that only the lock protects: a holder that was paused for
        longer than the lock's time must not write over what the next holder has written.

        Raises:
            CommitConflictError: the lock has expired and others took it.
            CatalogUnavailableError: the catalog cannot tell.
        """


class TableLock(ABC):
    """What keeps the other writers of a table away for a moment; an instance can be pickled."""

    @abstractmethod
    def held(self, branch: str) -> AbstractContextManager[HeldLock]:
        """Hold the lock of a branch. It cannot be taken twice.

        Raises:
            CommitConflictError: others held it for too long; nothing was changed.
        """


class _NoLock(HeldLock):
    is_locked = False

    def confirm(self) -> None:
        return


@dataclass(frozen=True)
class Unlocked(TableLock):
    """No lock: the file system itself creates files exclusively."""

    @contextmanager
    def held(self, branch: str) -> Iterator[HeldLock]:
        yield _NoLock()


UNLOCKED = Unlocked()

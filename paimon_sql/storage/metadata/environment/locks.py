"""Locks of a catalog for the creation of a table's metadata files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass


class HeldLock(ABC):
    """An acquired lock; it can be lost while it is held, because locks expire.

    Attributes:
        is_locked: whether there is a lock at all; without one the file system creates files exclusively.
    """

    is_locked: bool = True

    @abstractmethod
    def confirm(self) -> None:
        """Check that the lock is still held, and renew it if the catalog can.

        Must be called immediately before a write that only the lock protects: a holder that was paused longer than the
        lock's timeout must not overwrite files of the next holder.

        Raises:
            CommitConflictError: the lock expired and was taken by another holder.
            CatalogUnavailableError: the catalog cannot tell.
        """


class TableLock(ABC):
    """A lock against other writers of a table; an instance can be pickled."""

    @abstractmethod
    def acquire(self, branch: str) -> AbstractContextManager[HeldLock]:
        """Hold the lock of a branch; it is not reentrant.

        Raises:
            CommitConflictError: it could not be acquired in time; nothing was changed.
        """


class _NoLock(HeldLock):
    is_locked = False

    def confirm(self) -> None:
        return


@dataclass(frozen=True)
class Unlocked(TableLock):
    """No lock: the file system creates files exclusively."""

    @contextmanager
    def acquire(self, branch: str) -> Iterator[HeldLock]:
        yield _NoLock()


UNLOCKED = Unlocked()

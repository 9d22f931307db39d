"""A lock of a server that lends it for a while: who stands still for longer has lost it, and may not know."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from paimon_sql.errors import CommitConflictError
from paimon_sql.storage.metadata.catalog_environment import HeldLock, TableLock
from tests.faults.clock import Clock
from tests.faults.schedule import Schedule

LEASE = 8.0
"""Seconds for which the lock is lent."""
_LONGEST_WAIT = 60.0


class Server:
    """Keeps the locks of one table, by its own clock.

    Args:
        clock: the server's clock.
        schedule: lets a party wait.
        chance: decides who stands still with a lock in its hand.
        stalls: how often that is so.
    """

    def __init__(self, clock: Clock, schedule: Schedule, chance: random.Random, stalls: float) -> None:
        self.clock = clock
        self.schedule = schedule
        self.lost = 0
        self._chance = chance
        self._stalls = stalls
        self._held: dict[str, tuple[int, float]] = {}
        self._count = 0

    def take(self, branch: str) -> int:
        """Take the lock: the number that proves it."""
        waited = 0.0
        while branch in self._held and self._held[branch][1] > self.clock.elapsed:
            if waited > _LONGEST_WAIT:
                raise CommitConflictError(f"the lock of {branch} was not to be had.")
            self.schedule.sleep(0.2)
            waited += 0.2
        self._count += 1
        self._held[branch] = self._count, self.clock.elapsed + LEASE
        number = self._count
        if self._chance.random() < self._stalls:
            self.schedule.sleep(LEASE * self._chance.choice([0.5, 1.01, 1.03, 1.06, 1.5, 4]))
        return number

    def renew(self, branch: str, number: int) -> None:
        """Make sure that the lock is still held; its time begins anew."""
        holder, _ = self._held.get(branch, (0, 0.0))
        if holder != number:
            self.lost += 1
            raise CommitConflictError(f"the lock of {branch} was lost.")
        self._held[branch] = number, self.clock.elapsed + LEASE

    def give_back(self, branch: str, number: int) -> None:
        """Give the lock back, if it is still held."""
        if self._held.get(branch, (0, 0.0))[0] == number:
            del self._held[branch]


class Lease(HeldLock):
    """The lock in the hand of a holder."""

    def __init__(self, server: Server, branch: str, number: int) -> None:
        self._server = server
        self._branch = branch
        self._number = number

    def confirm(self) -> None:
        self._server.renew(self._branch, self._number)


class LeasedLock(TableLock):
    """The lock of a table, asked for at a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @contextmanager
    def acquire(self, branch: str) -> Iterator[HeldLock]:
        number = self._server.take(branch)
        yield Lease(self._server, branch, number)
        # Whoever dies gives nothing back, and nothing need be: the lease ends.
        self._server.give_back(branch, number)

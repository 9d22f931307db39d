"""Lock of a Hive catalog: an exclusive lock on the table in the metastore, as taken by Hive's own statements."""

from __future__ import annotations

import logging
import random
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pymetastore.hive_metastore.ttypes import (
    CheckLockRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    NoSuchLockException,
    UnlockRequest,
)

from paimon_sql.catalog.hive.client import Metastore
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import LOCK_ACQUIRE_TIMEOUT, LOCK_CHECK_MAX_SLEEP
from paimon_sql.storage.metadata.environment.locks import HeldLock, TableLock

_LOG = logging.getLogger(__name__)
_FIRST_WAIT = 0.05


@dataclass(frozen=True)
class LockSettings:
    """The lock settings of a catalog.

    Attributes:
        metastore: the metastore with the locks.
        timeout: the max seconds to wait for a lock.
        longest_wait: the max seconds between two attempts.
    """

    metastore: Metastore
    timeout: float
    longest_wait: float

    @classmethod
    def of(cls, metastore: Metastore, options: Mapping[str, str]) -> LockSettings:
        """The settings of a catalog with these options."""
        timeout, longest_wait = map(TableOptions(options).get, (LOCK_ACQUIRE_TIMEOUT, LOCK_CHECK_MAX_SLEEP))
        return cls(metastore, timeout.total_seconds(), longest_wait.total_seconds())


@dataclass(frozen=True)
class HiveLock(TableLock):
    """The lock of a table and its branches; the metastore expires abandoned locks."""

    settings: LockSettings
    table: Identifier

    @contextmanager
    def acquire(self, branch: str = MAIN_BRANCH) -> Iterator[HeldLock]:
        name = Identifier(self.table.database, self.table.table, branch)
        lock_id = self._acquire(name)
        try:
            yield _Acquired(self.settings.metastore, lock_id, name)
        finally:
            self._release(lock_id)

    def _acquire(self, name: Identifier) -> int:
        """Wait for the lock; return its id."""
        component = LockComponent(
            type=LockType.EXCLUSIVE, level=LockLevel.TABLE, dbname=name.database, tablename=name.object_name
        )
        component.operationType = None  # as of Hive's LOCK TABLE; the default is for transactions
        request = LockRequest(component=[component], user=self.settings.metastore.user, hostname=socket.gethostname())
        started, wait = time.monotonic(), _FIRST_WAIT
        response = self.settings.metastore.call("lock", request)
        lock_id = int(response.lockid)
        try:
            while response.state == LockState.WAITING and time.monotonic() - started < self.settings.timeout:
                wait = min(wait * 2, self.settings.longest_wait)
                time.sleep(wait * random.uniform(0.5, 1))
                response = self.settings.metastore.call("check_lock", CheckLockRequest(lockid=lock_id))
        except BaseException:
            self._release(lock_id)
            raise
        if response.state == LockState.ACQUIRED:
            return lock_id
        self._release(lock_id)
        raise CommitConflictError(
            f"The lock of {name} in Hive's metastore was held by others for {time.monotonic() - started:.0f} seconds.",
            remedy=f"Run the statement again, or raise '{LOCK_ACQUIRE_TIMEOUT.key}'.",
        )

    def _release(self, lock_id: int) -> None:
        """Release the lock; if that fails, it expires."""
        try:
            self.settings.metastore.call("unlock", UnlockRequest(lockid=lock_id))
        except PaimonError as error:
            _LOG.warning("Lock %d of Hive's metastore could not be given back: %s", lock_id, error)


@dataclass(frozen=True)
class _Acquired(HeldLock):
    """An acquired lock, by its id."""

    metastore: Metastore
    lock_id: int
    name: Identifier

    def confirm(self) -> None:
        try:
            # The call is also a heartbeat: it restarts the lock's timeout.
            response = self.metastore.call("check_lock", CheckLockRequest(lockid=self.lock_id))
        except CatalogUnavailableError as error:
            if not isinstance(error.__cause__, NoSuchLockException):
                raise
        else:
            if response.state == LockState.ACQUIRED:
                return
        raise CommitConflictError(
            f"The lock of {self.name} in Hive's metastore expired while it was held.",
            remedy="Run the statement again; 'hive.txn.timeout' of the metastore is how long a lock lasts.",
        )

"""Catalog environment of a Hive catalog: locks and the partition registry, both in the metastore."""

from __future__ import annotations

import copy
import logging
import random
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pymetastore.hive_metastore import ttypes

from paimon_sql.catalog.hive.client import Metastore, MissingEntryError
from paimon_sql.catalog.hive.entries import Entries
from paimon_sql.catalog.hive.layout.tables import Locations
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, PaimonError
from paimon_sql.format.layout.partitions import escape_path_name
from paimon_sql.format.options.engines.catalog import LOCK_ACQUIRE_TIMEOUT
from paimon_sql.storage.metadata.catalog_environment import HeldLock, PartitionRegistry, TableLock

_LOG = logging.getLogger(__name__)
_FIRST_WAIT = 0.05


@dataclass(frozen=True)
class HiveLock(TableLock):
    """The lock of a table and its branches; the metastore expires abandoned locks (Paimon: `HiveCatalogLock`).

    Attributes:
        metastore: the metastore with the locks.
        timeout: the max seconds to wait for a lock.
        longest_wait: the max seconds between two attempts.
        table: the table.
    """

    metastore: Metastore
    timeout: float
    longest_wait: float
    table: Identifier

    @contextmanager
    def acquire(self, branch: str = MAIN_BRANCH) -> Iterator[HeldLock]:
        name = Identifier(self.table.database, self.table.table, branch)
        lock_id = self._acquire(name)
        try:
            yield _Acquired(self.metastore, lock_id, name)
        finally:
            self._release(lock_id)

    def _acquire(self, name: Identifier) -> int:
        """Wait for the lock; return its id."""
        kind = {"type": ttypes.LockType.EXCLUSIVE, "level": ttypes.LockLevel.TABLE}
        component = ttypes.LockComponent(**kind, dbname=name.database, tablename=name.object_name)
        component.operationType = None  # as of Hive's LOCK TABLE; the default is for transactions
        user, host = self.metastore.user, socket.gethostname()
        request = ttypes.LockRequest(component=[component], user=user, hostname=host)
        started, wait = time.monotonic(), _FIRST_WAIT
        response = self.metastore.call("lock", request)
        lock_id = int(response.lockid)
        try:
            while response.state == ttypes.LockState.WAITING and time.monotonic() - started < self.timeout:
                wait = min(wait * 2, self.longest_wait)
                time.sleep(wait * random.uniform(0.5, 1))
                response = self.metastore.call("check_lock", ttypes.CheckLockRequest(lockid=lock_id))
        except BaseException:
            self._release(lock_id)
            raise
        if response.state == ttypes.LockState.ACQUIRED:
            return lock_id
        self._release(lock_id)
        raise CommitConflictError(
            f"The lock of {name} in Hive's metastore was held by others for {time.monotonic() - started:.0f} seconds.",
            remedy=f"Run the statement again, or raise '{LOCK_ACQUIRE_TIMEOUT.key}'.",
        )

    def _release(self, lock_id: int) -> None:
        """Release the lock; if that fails, it expires."""
        try:
            self.metastore.call("unlock", ttypes.UnlockRequest(lockid=lock_id))
        except PaimonError as error:
            _LOG.warning("Lock %d of Hive's metastore could not be released: %s", lock_id, error)


@dataclass(frozen=True)
class _Acquired(HeldLock):
    """An acquired lock, by its id."""

    metastore: Metastore
    lock_id: int
    name: Identifier

    def confirm(self) -> None:
        try:
            # The call is also a heartbeat: it restarts the lock's timeout.
            response = self.metastore.call("check_lock", ttypes.CheckLockRequest(lockid=self.lock_id))
        except CatalogUnavailableError as error:
            if not isinstance(error.__cause__, ttypes.NoSuchLockException):
                raise
        else:
            if response.state == ttypes.LockState.ACQUIRED:
                return
        raise CommitConflictError(
            f"The lock of {self.name} in Hive's metastore expired while it was held.",
            remedy="Run the statement again, or raise 'hive.txn.timeout' of the metastore.",
        )


_AT_ONCE = 500
_ALL = -1


@dataclass(frozen=True)
class HivePartitions(PartitionRegistry):
    """The registered partitions of a table.

    Attributes:
        entries: the metastore.
        database: the table's database.
        table: its name.
        folder: the parent directory of its partitions.
        locations: how entries store locations.
    """

    entries: Entries
    database: str
    table: str
    folder: str
    locations: Locations

    def add(self, partitions: Sequence[Mapping[str, str]]) -> None:
        entry = self.entries.get(self.database, self.table)
        if entry is None:
            return
        now, entries = int(time.time()), []
        for spec in partitions:
            partition = ttypes.Partition(
                dbName=entry.dbName,
                tableName=entry.tableName,
                values=list(spec.values()),
                sd=copy.copy(entry.sd),
                createTime=now,
                lastAccessTime=now,
                parameters={},
            )
            path = "/".join(f"{escape_path_name(k)}={escape_path_name(v)}" for k, v in spec.items())
            self.locations.place(partition, f"{self.folder}/{path}")
            entries.append(partition)
        for start in range(0, len(entries), _AT_ONCE):
            request = ttypes.AddPartitionsRequest(
                dbName=entry.dbName,
                tblName=entry.tableName,
                parts=entries[start : start + _AT_ONCE],
                ifNotExists=True,
                needResult=False,
            )
            self.entries.metastore.call("add_partitions_req", request)

    def drop(self, partitions: Sequence[Mapping[str, str]]) -> None:
        for spec in partitions:
            try:
                self.entries.metastore.call("drop_partition", self.database, self.table, list(spec.values()), False)
            except MissingEntryError:
                continue

    def all(self) -> list[tuple[str, ...]]:
        found = self.entries.metastore.call("get_partitions", self.database, self.table, _ALL)
        return [tuple(p.values) for p in found]

    def mark_done(self, partition: Mapping[str, str]) -> None:
        arguments = self.database, self.table, dict(partition), ttypes.PartitionEventType.LOAD_DONE
        self.entries.metastore.call("markPartitionForEvent", *arguments)

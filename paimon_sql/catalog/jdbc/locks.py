"""The lock of a JDBC catalog: a row in ``paimon_distributed_locks``, which is there as long as somebody holds it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import and_, delete, insert
from sqlalchemy.exc import DBAPIError, IntegrityError

from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.jdbc.engines import Database
from paimon_sql.catalog.jdbc.layout import layout_of
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, InvalidOptionError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.catalog import LOCK_ACQUIRE_TIMEOUT, LOCK_CHECK_MAX_SLEEP, LOCK_KEY_MAX_LENGTH
from paimon_sql.storage.locks import TableLock

_LOG = logging.getLogger(__name__)
_FIRST_WAIT = 0.02


@dataclass(frozen=True)
class LockSettings:
    """How the tables of a catalog are locked.

    Attributes:
        database: where the locks are.
        catalog_key: what their names start with.
        key_length: how long a name may be.
        timeout: for how many seconds a lock is asked for, and after how many one counts as left behind.
        longest_wait: how many seconds pass at most before it is asked for again.
    """

    database: Database
    catalog_key: str
    key_length: int
    timeout: float
    longest_wait: float

    @classmethod
    def of(cls, database: Database, catalog_key: str, options: Mapping[str, str]) -> LockSettings:
        """Those of a catalog with these options."""
        read = TableOptions(options).get
        return cls(
            database,
            catalog_key,
            read(LOCK_KEY_MAX_LENGTH),
            read(LOCK_ACQUIRE_TIMEOUT).total_seconds(),
            read(LOCK_CHECK_MAX_SLEEP).total_seconds(),
        )


@dataclass(frozen=True)
class JdbcLock(TableLock):
    """The lock of one table and its branches."""

    settings: LockSettings
    table: Identifier

    @contextmanager
    def held(self, branch: str = MAIN_BRANCH) -> Iterator[bool]:
        key = f"{self.settings.catalog_key}.{Identifier(self.table.database, self.table.table, branch)}"
        if len(key) > self.settings.key_length:
            raise InvalidOptionError(
                f"The lock's name {key} has more than {self.settings.key_length} characters.",
                key=LOCK_KEY_MAX_LENGTH.key,
                remedy=f"Raise '{LOCK_KEY_MAX_LENGTH.key}' and widen the column lock_id, or use shorter names.",
            )
        locks = _LockRows(self.settings)
        self._acquire(locks, key)
        taken = time.monotonic()
        try:
            yield True
        finally:
            # After that time others may have taken it for one that was left behind, and hold it now.
            if time.monotonic() - taken < self.settings.timeout:
                locks.release(key)

    def _acquire(self, locks: _LockRows, key: str) -> None:
        started, wait = time.monotonic(), _FIRST_WAIT
        while not locks.take(key):
            waited = time.monotonic() - started
            if waited > self.settings.timeout:
                raise CommitConflictError(
                    f"The lock {key} was held by others for {waited:.0f} seconds.",
                    remedy=f"Run the statement again, or raise '{LOCK_ACQUIRE_TIMEOUT.key}'.",
                )
            wait = min(wait * 2, self.settings.longest_wait)
            time.sleep(wait * random.uniform(0.5, 1))


class _LockRows:
    """The rows of all locks."""

    def __init__(self, settings: LockSettings) -> None:
        self._settings = settings
        self._database = settings.database
        self._locks = layout_of(settings.database.backend, settings.key_length).locks

    def take(self, key: str) -> bool:
        """Whether the lock is ours now; one that was left behind is removed before."""
        rows, seconds = self._locks, int(self._settings.timeout)
        age = self._database.backend.age_seconds(rows.c.acquired_at)
        try:
            with self._database.transaction() as connection:
                connection.execute(delete(rows).where(and_(age > rows.c.expire_time_seconds, rows.c.lock_id == key)))
            with self._database.transaction() as connection:
                connection.execute(insert(rows).values(lock_id=key, expire_time_seconds=seconds))
        except IntegrityError:
            return False
        except CatalogUnavailableError as error:
            cause = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else None
            if cause is not None and self._database.backend.is_rivalry(cause):
                return False
            raise
        return True

    def release(self, key: str) -> None:
        """Give the lock back; one that cannot be given back expires."""
        try:
            with self._database.transaction() as connection:
                connection.execute(delete(self._locks).where(self._locks.c.lock_id == key))
        except PaimonError as error:
            _LOG.warning("The lock %s could not be given back: %s", key, error)

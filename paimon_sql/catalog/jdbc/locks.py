"""Lock of a JDBC catalog: a row in ``paimon_distributed_locks``, which exists while the lock is held.

The rows are those of Paimon's ``JdbcCatalogLock``. Rows of Java 1.4 have no owner; ours have a token in the column
``lock_owner``, by which a holder recognises its own row.
"""

from __future__ import annotations

import logging
import random
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import ColumnElement, String, and_, cast, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.jdbc.database import Database, add_lock_owner, layout_of
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, InvalidOptionError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import LOCK_ACQUIRE_TIMEOUT, LOCK_CHECK_MAX_SLEEP, LOCK_KEY_MAX_LENGTH
from paimon_sql.storage.metadata.catalog_environment import HeldLock, TableLock

_LOG = logging.getLogger(__name__)
_FIRST_WAIT = 0.02


@dataclass(frozen=True)
class LockSettings:
    """The lock settings of a catalog.

    Attributes:
        database: the database with the locks.
        catalog_key: the prefix of their names.
        key_length: the max length of a name.
        timeout: the max seconds to wait for a lock, and the seconds after which a lock expires.
        longest_wait: the max seconds between two attempts.
    """

    database: Database
    catalog_key: str
    key_length: int
    timeout: float
    longest_wait: float

    @classmethod
    def of(cls, database: Database, catalog_key: str, options: Mapping[str, str]) -> LockSettings:
        """The settings of a catalog with these options."""
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
    """The lock of a table and its branches."""

    settings: LockSettings
    table: Identifier

    @contextmanager
    def acquire(self, branch: str = MAIN_BRANCH) -> Iterator[HeldLock]:
        key = f"{self.settings.catalog_key}.{Identifier(self.table.database, self.table.table, branch)}"
        if len(key) > self.settings.key_length:
            raise InvalidOptionError(
                f"The lock's name {key} has more than {self.settings.key_length} characters.",
                key=LOCK_KEY_MAX_LENGTH.key,
                remedy=f"Raise '{LOCK_KEY_MAX_LENGTH.key}' and widen the column lock_id, or use shorter names.",
            )
        row = _LockRow(self.settings, key)
        try:
            self._acquire(row)
            yield row
        finally:
            row.release()

    def _acquire(self, row: _LockRow) -> None:
        started, wait = time.monotonic(), _FIRST_WAIT
        while not row.take():
            waited = time.monotonic() - started
            if waited > self.settings.timeout:
                raise CommitConflictError(
                    f"The lock {row.key} was held by others for {waited:.0f} seconds.",
                    remedy=f"Run the statement again, or raise '{LOCK_ACQUIRE_TIMEOUT.key}'.",
                )
            wait = min(wait * 2, self.settings.longest_wait)
            time.sleep(wait * random.uniform(0.5, 1))


class _LockRow(HeldLock):
    """The row of a lock, which one caller acquires, holds and releases."""

    def __init__(self, settings: LockSettings, key: str) -> None:
        self.key = key
        self._settings = settings
        self._backend, self._transaction = settings.database.backend, settings.database.transaction
        self._rows = layout_of(self._backend, settings.key_length).locks
        self._token = secrets.token_hex(8)
        self._other: tuple[object, ...] | None = None
        self._other_since = 0.0

    def take(self) -> bool:
        """Try to acquire the lock, after deleting an expired row; return whether it was acquired."""
        add_lock_owner(self._settings.database)
        row = {
            "lock_id": self.key,
            "expire_time_seconds": int(self._settings.timeout),
            "lock_owner": self._backend.lock_owner(self._token),
        }
        try:
            self._remove_expired()
            with self._transaction() as connection:
                connection.execute(insert(self._rows).values(row))
        except IntegrityError:
            return False
        except CatalogUnavailableError as error:
            if self._is_conflict(error):
                return False
            raise
        return True

    def confirm(self) -> None:
        renewed = {"acquired_at": func.current_timestamp(), "lock_owner": self._backend.lock_owner(self._token)}
        try:
            with self._transaction() as connection:
                if connection.execute(update(self._rows).where(self._is_ours).values(renewed)).rowcount:
                    return
        except CatalogUnavailableError as error:
            if not self._is_conflict(error):
                raise
        raise CommitConflictError(
            f"The lock {self.key} expired while it was held.",
            remedy=f"Run the statement again, or raise '{LOCK_ACQUIRE_TIMEOUT.key}'.",
        )

    def release(self) -> None:
        """Release the lock; if that fails, it expires."""
        try:
            with self._transaction() as connection:
                connection.execute(delete(self._rows).where(self._is_ours))
        except PaimonError as error:
            _LOG.warning("The lock %s could not be released: %s", self.key, error)

    @property
    def _is_ours(self) -> ColumnElement[bool]:
        return and_(self._rows.c.lock_id == self.key, self._rows.c.lock_owner.startswith(self._token))

    def _remove_expired(self) -> None:
        """Delete the row of another holder if it is expired, or was observed unchanged for its expiration time."""
        rows = self._rows
        with self._transaction() as connection:
            connection.execute(delete(rows).where(rows.c.lock_id == self.key, self._backend.is_expired(rows)))
            identity = (cast(rows.c.acquired_at, String(64)), rows.c.lock_owner)
            query = select(*identity, rows.c.expire_time_seconds).where(rows.c.lock_id == self.key)
            found = connection.execute(query).first()
            other = None if found is None else tuple(found)
            if other is None or other != self._other:
                self._other, self._other_since = other, time.monotonic()
            elif time.monotonic() - self._other_since > other[2]:
                same = [column.is_not_distinct_from(value) for column, value in zip(identity, other, strict=False)]
                connection.execute(delete(rows).where(rows.c.lock_id == self.key, *same))

    def _is_conflict(self, error: CatalogUnavailableError) -> bool:
        cause = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else None
        return cause is not None and self._backend.is_conflict(cause)

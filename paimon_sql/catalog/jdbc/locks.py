"""The lock of a JDBC catalog: a row in ``paimon_distributed_locks``, which is there as long as the lock is held.

The rows are those of Paimon's ``JdbcCatalogLock``. Those of Java 1.4 do not say who holds them; ours have a token in
the column ``lock_owner``, by which a holder recognises its own row.
"""

from __future__ import annotations

import logging
import random
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, String, and_, cast, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.jdbc.engines import Database
from paimon_sql.catalog.jdbc.layout import add_lock_owner, layout_of
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, InvalidOptionError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import LOCK_ACQUIRE_TIMEOUT, LOCK_CHECK_MAX_SLEEP, LOCK_KEY_MAX_LENGTH
from paimon_sql.storage.metadata.environment.locks import HeldLock, TableLock

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
    def held(self, branch: str = MAIN_BRANCH) -> Iterator[HeldLock]:
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
    """The row of one lock, which one caller wants, holds and gives back."""

    def __init__(self, settings: LockSettings, key: str) -> None:
        self.key = key
        self._settings = settings
        self._database = settings.database
        self._backend = settings.database.backend
        self._rows = layout_of(self._backend, settings.key_length).locks
        self._token = secrets.token_hex(8)
        self._rival: tuple[Any, ...] | None = None
        self._rival_since = 0.0

    def take(self) -> bool:
        """Whether the lock is ours now; one that was left behind is removed before."""
        add_lock_owner(self._database)
        row = {
            "lock_id": self.key,
            "expire_time_seconds": int(self._settings.timeout),
            "lock_owner": self._backend.lock_owner(self._token),
        }
        try:
            self._remove_expired()
            with self._database.transaction() as connection:
                connection.execute(insert(self._rows).values(row))
        except IntegrityError:
            return False
        except CatalogUnavailableError as error:
            if self._is_rivalry(error):
                return False
            raise
        return True

    def confirm(self) -> None:
        renewed = {
            "acquired_at": func.current_timestamp(),
            "lock_owner": self._backend.lock_owner(self._token),
        }
        try:
            with self._database.transaction() as connection:
                if connection.execute(update(self._rows).where(self._is_ours).values(renewed)).rowcount:
                    return
        except CatalogUnavailableError as error:
            if not self._is_rivalry(error):
                raise
        raise CommitConflictError(
            f"The lock {self.key} expired while it was held, and others took it.",
            remedy=f"Run the statement again; '{LOCK_ACQUIRE_TIMEOUT.key}' is how long a lock lasts.",
        )

    def release(self) -> None:
        """Give the lock back; one that cannot be given back expires."""
        try:
            with self._database.transaction() as connection:
                connection.execute(delete(self._rows).where(self._is_ours))
        except PaimonError as error:
            _LOG.warning("The lock %s could not be given back: %s", self.key, error)

    @property
    def _is_ours(self) -> ColumnElement[bool]:
        return and_(self._rows.c.lock_id == self.key, self._rows.c.lock_owner.startswith(self._token))

    def _remove_expired(self) -> None:
        """Remove a rival's row that is older than it may become, or was watched unchanged for as long."""
        rows = self._rows
        with self._database.transaction() as connection:
            connection.execute(delete(rows).where(rows.c.lock_id == self.key, self._backend.is_expired(rows)))
            identity = (cast(rows.c.acquired_at, String(64)), rows.c.lock_owner)
            asked = select(*identity, rows.c.expire_time_seconds).where(rows.c.lock_id == self.key)
            found = connection.execute(asked).first()
            rival = None if found is None else tuple(found)
            if rival is None or rival != self._rival:
                self._rival, self._rival_since = rival, time.monotonic()
            elif time.monotonic() - self._rival_since > rival[2]:
                same = [column.is_not_distinct_from(value) for column, value in zip(identity, rival, strict=False)]
                connection.execute(delete(rows).where(rows.c.lock_id == self.key, *same))

    def _is_rivalry(self, error: CatalogUnavailableError) -> bool:
        cause = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else None
        return cause is not None and self._backend.is_rivalry(cause)

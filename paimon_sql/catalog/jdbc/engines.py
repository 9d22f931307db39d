"""Connections to the databases of JDBC catalogs, with an SQLAlchemy engine per process and database."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from sqlalchemy import Connection, Engine, NullPool, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from paimon_sql.catalog.jdbc.backends import BACKENDS, Backend, parts_only
from paimon_sql.catalog.required_options import required
from paimon_sql.errors import CatalogUnavailableError, InvalidOptionError, SetupError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import CLIENT_POOL_SIZE, JDBC_PROPERTY, URI

_ADDRESS = re.compile(r"jdbc:([A-Za-z0-9]+):(.*)", re.DOTALL)
_PREFIX = JDBC_PROPERTY.for_name("")
_MAX_OVERFLOW = 30
"""The max number of temporary connections in addition to the pooled ones."""


@dataclass(frozen=True)
class Database:
    """The address of a database; it can be pickled, and connections are opened on use.

    Attributes:
        uri: its JDBC address.
        properties: the settings of its connections by name, ``user`` and ``password`` included.
        pool_size: the max number of pooled connections.
    """

    uri: str = field(repr=False)
    properties: tuple[tuple[str, str], ...] = field(repr=False)
    pool_size: int

    @classmethod
    def of(cls, catalog: str, options: Mapping[str, str]) -> Database:
        """The database of a catalog with these options.

        Raises:
            InvalidOptionError: the address is missing, or its kind of database is not supported.
        """
        remedy = "Set it to jdbc:sqlite:/path, jdbc:mysql://host/db or jdbc:postgresql://host/db."
        uri = required(catalog, options, URI, remedy)
        properties = {k.removeprefix(_PREFIX): v for k, v in options.items() if k.startswith(_PREFIX)}
        size = TableOptions(options).get(CLIENT_POOL_SIZE)
        found = cls(uri, tuple(sorted(properties.items())), size)
        found.backend.address(found.rest, properties)
        return found

    @cached_property
    def backend(self) -> Backend:
        """The backend."""
        match = _ADDRESS.fullmatch(self.uri)
        backend = BACKENDS.get(match[1].lower()) if match else None
        if backend is None:
            raise InvalidOptionError(
                f"'{parts_only(self.uri)}' is no address of a database that can keep a catalog.",
                key=URI.key,
                remedy=f"It starts with {', '.join(f'jdbc:{name}:' for name in BACKENDS)}.",
            )
        return backend

    @property
    def rest(self) -> str:
        """The address after its protocol."""
        return self.uri.split(":", 2)[2]

    def __str__(self) -> str:
        return parts_only(self.uri)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection whose statements are committed at the end of the ``with``, or rolled back.

        Raises:
            SetupError: the driver is not installed.
            CatalogUnavailableError: the database does not respond, or refuses.
            IntegrityError: a row exists already.
        """
        try:
            with _engine(self).begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            raise self._refused(error) from error

    def _refused(self, error: SQLAlchemyError) -> CatalogUnavailableError:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        reason = " ".join(str(cause.args[-1] if cause.args else cause).split()).rstrip(".")
        return CatalogUnavailableError(
            f"The catalog's database {self} refused: {reason}.",
            remedy="Check that it runs, and the options 'uri', 'jdbc.user' and 'jdbc.password'.",
        )


_engines: dict[Database, Engine] = {}
_lock = threading.Lock()


def _engine(database: Database) -> Engine:
    found = _engines.get(database)
    if found is not None:
        return found
    with _lock:
        if database not in _engines:
            _engines[database] = _create(database)
        return _engines[database]


def _create(database: Database) -> Engine:
    backend = database.backend
    url, arguments = backend.address(database.rest, dict(database.properties))
    backend.prepare(url)
    try:
        if not backend.pooled:
            return create_engine(url, connect_args=arguments, poolclass=NullPool)
        return create_engine(
            url,
            connect_args=arguments,
            poolclass=QueuePool,
            pool_size=database.pool_size,
            max_overflow=_MAX_OVERFLOW,
            pool_pre_ping=True,
        )
    except (ImportError, NoSuchModuleError) as error:
        raise SetupError(
            f"The driver {backend.driver} of {database} is not installed.",
            remedy=f"Run: pip install 'paimon-sql[{backend.extra}]'.",
        ) from error


def _after_fork() -> None:
    """Drop the connections of the parent process without closing them."""
    global _lock
    _lock = threading.Lock()
    for engine in _engines.values():
        engine.dispose(close=False)
    _engines.clear()


os.register_at_fork(after_in_child=_after_fork)

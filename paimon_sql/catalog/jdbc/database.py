"""The database of a JDBC catalog: an SQLAlchemy engine per process, tables of Paimon's `JdbcCatalog`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from paimon_sql.cache import Cache
from paimon_sql.catalog.jdbc.backends import BACKENDS, Backend, parts_only
from paimon_sql.catalog.required_options import required
from paimon_sql.errors import CatalogUnavailableError, InvalidOptionError, SetupError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import CLIENT_POOL_SIZE, JDBC_PROPERTY, URI
from paimon_sql.process import share

_ADDRESS = re.compile(r"jdbc:([A-Za-z0-9]+):(.*)", re.DOTALL)
_PREFIX = JDBC_PROPERTY.for_name("")
_MAX_ENGINES = 64
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
                f"'{parts_only(self.uri)}' is not an address of a supported database.",
                key=URI.key,
                remedy=f"Use an address that starts with {', '.join(f'jdbc:{name}:' for name in BACKENDS)}.",
            )
        return backend

    @property
    def rest(self) -> str:
        """The address after its protocol."""
        return self.uri.split(":", 2)[2]

    def __str__(self) -> str:
        return parts_only(self.uri)

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A connection whose statements are committed at the end of the ``with``, or rolled back.

        Raises:
            SetupError: the driver is not installed.
            CatalogUnavailableError: the database does not respond, or refuses.
            IntegrityError: a row exists already.
        """
        try:
            with _engines().compute(self, lambda: _create(self)).begin() as connection:
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


def _create(database: Database) -> sa.Engine:
    backend = database.backend
    url, arguments = backend.address(database.rest, dict(database.properties))
    backend.prepare(url)
    pool: dict[str, object] = {"poolclass": sa.NullPool}
    if backend.pooled:
        sizes = {"pool_size": database.pool_size, "max_overflow": _MAX_OVERFLOW}
        pool = {"poolclass": sa.QueuePool, "pool_pre_ping": True, **sizes}
    try:
        return sa.create_engine(url, connect_args=arguments, **pool)
    except (ImportError, NoSuchModuleError) as error:
        raise SetupError(
            f"The driver {backend.driver} of {database} is not installed.",
            remedy=f"Run: pip install 'paimon-sql[{backend.extra}]'.",
        ) from error


def _leave(engines: Cache[Database, sa.Engine]) -> None:
    """Drop the connections of the parent process without closing them."""
    for engine in engines.values():
        engine.dispose(close=False)


_engines = share(lambda: Cache[Database, sa.Engine](_MAX_ENGINES, leave=sa.Engine.dispose), leave=_leave)


LONGEST_KEY = 255
"""The max length of the key of a database property."""
LONGEST_VALUE = 1000
"""The max length of a property's value."""
_LOCKS, _OWNER, _OWNER_LENGTH = "paimon_distributed_locks", "lock_owner", 36


class Layout:
    """The tables for a backend (Paimon: `JdbcUtils`).

    Each row has the ``catalog-key`` of its catalog, so that a database can store several catalogs.

    Args:
        backend: the backend.
        lock_key_length: the max length of a lock's name.

    Attributes:
        longest_option: the max length of the key of a table's option.
    """

    def __init__(self, backend: Backend, lock_key_length: int = 255) -> None:
        self._backend = backend
        self._metadata = sa.MetaData()
        self.tables = self._table("paimon_tables", ("catalog_key", "database_name", "table_name"))
        self.database_properties = self._table(
            "paimon_database_properties",
            ("catalog_key", "database_name", "property_key"),
            sa.Column("property_value", sa.String(LONGEST_VALUE)),
        )
        self.table_properties = self._table(
            "paimon_table_properties",
            ("catalog_key", "database_name", "table_name", "property_key"),
            sa.Column("property_value", sa.String(LONGEST_VALUE)),
        )
        self.longest_option = backend.key_length("property_key", len(self.table_properties.primary_key))
        self.views = self._table(
            "paimon_views",
            ("catalog_key", "database_name", "view_name"),
            sa.Column("view_schema", sa.Text(), nullable=False),
        )
        self.locks = sa.Table(
            _LOCKS,
            self._metadata,
            sa.Column("lock_id", sa.String(lock_key_length), nullable=False),
            sa.Column("acquired_at", sa.TIMESTAMP(), server_default=sa.text("CURRENT_TIMESTAMP"), nullable=False),
            sa.Column("expire_time_seconds", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
            sa.Column(_OWNER, sa.String(_OWNER_LENGTH)),
            sa.PrimaryKeyConstraint("lock_id"),
        )

    def make(self, database: Database, *, with_locks: bool) -> None:
        """Create the missing tables, which another process may do concurrently."""
        wanted = [t for t in self._metadata.sorted_tables if with_locks or t is not self.locks]
        with database.transaction() as connection:
            missing = [t for t in wanted if not _exists(connection, t)]
        for table in missing:
            try:
                with database.transaction() as connection:
                    table.create(connection)
            except (CatalogUnavailableError, IntegrityError):
                with database.transaction() as connection:
                    if not _exists(connection, table):
                        raise

    def _table(self, name: str, key: Sequence[str], *others: sa.Column[str]) -> sa.Table:
        lengths = {k: self._backend.key_length(k, len(key)) for k in key}
        columns = [sa.Column(k, self._backend.key_type(length), nullable=False) for k, length in lengths.items()]
        return sa.Table(name, self._metadata, *columns, *others, sa.PrimaryKeyConstraint(*key))


def _exists(connection: sa.Connection, table: sa.Table) -> bool:
    return sa.inspect(connection).has_table(table.name)


@lru_cache(maxsize=64)
def add_lock_owner(database: Database) -> None:
    """Add the column of lock owners if it is missing: Java 1.4 creates the table without it.

    Raises:
        CatalogUnavailableError: the database does not allow to add the column.
    """
    if _has_owner_column(database):
        return
    statement = f"ALTER TABLE {_LOCKS} ADD COLUMN {_OWNER} VARCHAR({_OWNER_LENGTH})"
    try:
        with database.transaction() as connection:
            connection.execute(sa.text(statement))
    except CatalogUnavailableError as error:
        if not _has_owner_column(database):  # otherwise a concurrent process has added it
            raise CatalogUnavailableError(error.message, remedy=f"Let the table's owner run: {statement}.") from error


def _has_owner_column(database: Database) -> bool:
    with database.transaction() as connection:
        return any(column["name"] == _OWNER for column in sa.inspect(connection).get_columns(_LOCKS))


@lru_cache(maxsize=64)
def layout_of(backend: Backend, lock_key_length: int = 255) -> Layout:
    """The layout for a backend."""
    return Layout(backend, lock_key_length)

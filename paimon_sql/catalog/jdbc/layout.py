"""Layout of the JDBC catalog: the tables of Apache Paimon's `JdbcCatalog`, with its names and types.

Each row has the ``catalog-key`` of its catalog, so that a database can store several catalogs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    inspect,
    text,
)
from sqlalchemy.exc import IntegrityError

from paimon_sql.catalog.jdbc.backends import Backend
from paimon_sql.catalog.jdbc.engines import Database
from paimon_sql.errors import CatalogUnavailableError

LONGEST_KEY = 255
"""The max length of the key of a database property."""
LONGEST_VALUE = 1000
"""The max length of a property's value."""
_LOCKS, _OWNER, _OWNER_LENGTH = "paimon_distributed_locks", "lock_owner", 36


class Layout:
    """The tables for a backend.

    Args:
        backend: the backend.
        lock_key_length: the max length of a lock's name.

    Attributes:
        longest_option: the max length of the key of a table's option.
    """

    def __init__(self, backend: Backend, lock_key_length: int = 255) -> None:
        self._backend = backend
        self._metadata = MetaData()
        self.tables = self._table("paimon_tables", ("catalog_key", "database_name", "table_name"))
        self.database_properties = self._table(
            "paimon_database_properties",
            ("catalog_key", "database_name", "property_key"),
            Column("property_value", String(LONGEST_VALUE)),
        )
        self.table_properties = self._table(
            "paimon_table_properties",
            ("catalog_key", "database_name", "table_name", "property_key"),
            Column("property_value", String(LONGEST_VALUE)),
        )
        self.longest_option = backend.key_length("property_key", len(self.table_properties.primary_key))
        self.views = self._table(
            "paimon_views",
            ("catalog_key", "database_name", "view_name"),
            Column("view_schema", Text(), nullable=False),
        )
        self.locks = Table(
            _LOCKS,
            self._metadata,
            Column("lock_id", String(lock_key_length), nullable=False),
            Column("acquired_at", TIMESTAMP(), server_default=text("CURRENT_TIMESTAMP"), nullable=False),
            Column("expire_time_seconds", BigInteger(), server_default=text("0"), nullable=False),
            Column(_OWNER, String(_OWNER_LENGTH)),
            PrimaryKeyConstraint("lock_id"),
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

    def _table(self, name: str, key: Sequence[str], *others: Column[str]) -> Table:
        lengths = {k: self._backend.key_length(k, len(key)) for k in key}
        columns = [Column(k, self._backend.key_type(length), nullable=False) for k, length in lengths.items()]
        return Table(name, self._metadata, *columns, *others, PrimaryKeyConstraint(*key))


def _exists(connection: Connection, table: Table) -> bool:
    return inspect(connection).has_table(table.name)


@cache
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
            connection.execute(text(statement))
    except CatalogUnavailableError as error:
        if not _has_owner_column(database):  # otherwise a concurrent process has added it
            raise CatalogUnavailableError(error.message, remedy=f"Let the table's owner run: {statement}.") from error


def _has_owner_column(database: Database) -> bool:
    with database.transaction() as connection:
        return any(column["name"] == _OWNER for column in inspect(connection).get_columns(_LOCKS))


@cache
def layout_of(backend: Backend, lock_key_length: int = 255) -> Layout:
    """The layout for a backend."""
    return Layout(backend, lock_key_length)

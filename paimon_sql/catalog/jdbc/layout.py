"""The tables in which Apache Paimon's JDBC catalog keeps itself, as it names and types them.

A row of each belongs to the catalog whose ``catalog-key`` it bears, so that one database holds several.
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
"""Characters of the key of a database's property."""
LONGEST_VALUE = 1000
"""Characters of a property's value."""
_LOCKS, _OWNER, _OWNER_LENGTH = "paimon_distributed_locks", "lock_owner", 36


class Layout:
    """The tables of one kind of database.

    Args:
        backend: the kind of database.
        lock_key_length: how long a lock's name may be.

    Attributes:
        longest_option: how long the key of a table's option may be.
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
        """Make those tables that are not there; another process may be at it too."""
        wanted = [t for t in self._metadata.sorted_tables if with_locks or t is not self.locks]
        with database.transaction() as connection:
            missing = [t for t in wanted if not _is_there(connection, t)]
        for table in missing:
            try:
                with database.transaction() as connection:
                    table.create(connection)
            except (CatalogUnavailableError, IntegrityError):
                with database.transaction() as connection:
                    if not _is_there(connection, table):
                        raise

    def _table(self, name: str, key: Sequence[str], *others: Column[str]) -> Table:
        lengths = {k: self._backend.key_length(k, len(key)) for k in key}
        columns = [Column(k, self._backend.key_type(length), nullable=False) for k, length in lengths.items()]
        return Table(name, self._metadata, *columns, *others, PrimaryKeyConstraint(*key))


def _is_there(connection: Connection, table: Table) -> bool:
    return inspect(connection).has_table(table.name)


@cache
def add_lock_owner(database: Database) -> None:
    """Let rows of locks tell their owners: Java 1.4 makes their table without that column.

    Raises:
        CatalogUnavailableError: the column is missing, and the database does not let us add it.
    """
    if _tells_owners(database):
        return
    statement = f"ALTER TABLE {_LOCKS} ADD COLUMN {_OWNER} VARCHAR({_OWNER_LENGTH})"
    try:
        with database.transaction() as connection:
            connection.execute(text(statement))
    except CatalogUnavailableError as error:
        if not _tells_owners(database):  # else another process was quicker
            raise CatalogUnavailableError(error.message, remedy=f"Let the table's owner run: {statement}.") from error


def _tells_owners(database: Database) -> bool:
    with database.transaction() as connection:
        return any(column["name"] == _OWNER for column in inspect(connection).get_columns(_LOCKS))


@cache
def layout_of(backend: Backend, lock_key_length: int = 255) -> Layout:
    """The tables of a kind of database."""
    return Layout(backend, lock_key_length)

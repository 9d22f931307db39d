"""Databases as SQLAlchemy's schemas: ``sales``, or ``archive.sales`` in another catalog."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.exc import ArgumentError

from paimon_sql.sql.text.names import parts_in, quote_name


class DatabaseName(NamedTuple):
    """A database; None where that of the connection is meant."""

    catalog: str | None
    database: str | None


def read_schema(schema: str | None) -> DatabaseName:
    """Return the database that a schema names.

    Args:
        schema: a database, or a catalog and a database with a dot between them. A name with a dot is in back-quotes.

    Raises:
        ArgumentError: the name has more than two parts.
    """
    if schema is None:
        return DatabaseName(None, None)
    parts = parts_in(schema) or (schema,)
    if len(parts) > 2:
        raise ArgumentError(f"The schema {schema!r} has {len(parts)} parts. Name a database, or catalog.database.")
    return DatabaseName(parts[0] if len(parts) == 2 else None, parts[-1])


def schema_of(database: str, catalog: str | None = None) -> str:
    """Return the schema that names a database.

    Args:
        database: the database.
        catalog: its catalog; by default that of the connection.
    """
    if catalog is None and parts_in(database) in ((database,), None):
        return database
    return ".".join(_quoted(name) for name in (catalog, database) if name is not None)


def _quoted(name: str) -> str:
    return name if parts_in(name) == (name,) else quote_name(name)

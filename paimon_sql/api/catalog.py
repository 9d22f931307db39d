"""Catalogs of the Python API: databases and tables by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pyarrow as pa

from paimon_sql.api.table import Table
from paimon_sql.api.views import View
from paimon_sql.catalog import catalog as catalogs
from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.catalog.paths import PathCatalog, identifier_at
from paimon_sql.catalog.registry import DEFAULT_CATALOG, open_default_catalog
from paimon_sql.catalog.table_types import kind_named
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options import TableOptions, canonical
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types_of_arrow import fields_of
from paimon_sql.storage.file_io.paths import name_of, parent_of
from paimon_sql.storage.schema.validation import validate_schema

_TABLE_DEFAULT = "table-default."
_FORMAT_TABLE = "format-table"


class Catalog:
    """Databases with their tables; opened by `open_catalog`."""

    def __init__(self, catalog: catalogs.Catalog) -> None:
        self._catalog = catalog

    def databases(self) -> list[str]:
        """Return the names of all databases, sorted."""
        return self._catalog.list_databases()

    def tables(self, database: str) -> list[str]:
        """Return the names of a database's tables, sorted; NoSuchDatabaseError if it does not exist."""
        return self._catalog.list_tables(database)

    def views(self, database: str) -> list[str]:
        """Return the names of a database's views, sorted; NoSuchDatabaseError if it does not exist."""
        return self._catalog.list_views(database)

    def view(self, name: str) -> View:
        """Return the definition of a view, ``database.view``; NoSuchViewError if it does not exist."""
        database, view = _parts(name)
        identifier = Identifier(database, view)
        return View.of(identifier, self._catalog.view(identifier))

    def table(self, name: str) -> Table:
        """Open a table, ``database.table``, or one of its branches, ``database.table$branch_b``.

        Raises:
            NoSuchTableError: it does not exist.
            UnsupportedError: it is a table of files in a common format, without snapshots.
        """
        return _opened(self._catalog, _identifier(name))

    def create_database(self, name: str, properties: Mapping[str, str] | None = None) -> None:
        """Create a database; DatabaseExistsError if it exists."""
        self._catalog.create_database(name, dict(properties or {}))

    def create_table(
        self,
        name: str,
        schema: pa.Schema,
        *,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> Table:
        """Create a table and open it.

        Args:
            name: database and table.
            schema: the columns; columns of the primary key become NOT NULL.
            primary_key: the columns of the primary key; without one the table is an append table.
            partition_by: the partition columns.
            options: the table's options.
            comment: its comment.

        Raises:
            TableExistsError: a table of that name exists.
            NoSuchDatabaseError: the database does not exist.
            UnsupportedError: it would be a table without snapshots.
            InvalidSchemaError: a column or key is invalid.
            InvalidOptionError: an option does not exist, has an invalid value, or contradicts another.

        >>> columns = pa.schema([("id", pa.int64()), ("page", pa.string())])
        >>> catalog.create_table("shop.visits", columns, primary_key=["id"], options={"bucket": "2"}).name
        'shop.visits'
        """
        given = {**self._defaults(), **dict(options or {})}
        kind = TableOptions(given).get(TYPE)
        if kind == _FORMAT_TABLE:
            raise UnsupportedError(
                f"{name} cannot be created: a table of type '{kind}' has no snapshots.", remedy="Create it by Spark."
            )
        made = new_schema(
            kind_named(kind).columns(fields_of(schema)),
            partition_keys=partition_by,
            primary_keys=primary_key,
            options=canonical(given),
            comment=comment,
        )
        validate_schema(made)
        identifier = _identifier(name)
        self._catalog.create_table(identifier, made)
        return self.table(name)

    def drop_table(self, name: str) -> None:
        """Drop a table with all its files; NoSuchTableError if it does not exist."""
        self._catalog.drop_table(_identifier(name))

    def rename_table(self, name: str, new_name: str) -> None:
        """Rename a table, also to another database; the new name must be free."""
        self._catalog.rename_table(_identifier(name), _identifier(new_name))

    def call(self, procedure: str, **arguments: object) -> list[dict[str, object]]:
        """Call a procedure; see `paimon_sql.procedures.call`."""
        from paimon_sql.procedures import call

        return call(self._catalog, procedure, **arguments)

    def _defaults(self) -> dict[str, str]:
        options = self._catalog.options
        return {k.removeprefix(_TABLE_DEFAULT): v for k, v in options.items() if k.startswith(_TABLE_DEFAULT)}


def open_catalog(warehouse: str | os.PathLike[str] | None = None, **options: str) -> Catalog:
    """Open a catalog in this process, without Spark.

    Args:
        warehouse: the directory or URI of the warehouse; ``./warehouse`` by default.
        **options: the options of the catalog; names with dots as ``**{"s3.endpoint": …}``.

    Raises:
        InvalidOptionError: an option is missing or invalid.

    >>> paimon_sql.open_catalog("warehouse").tables("shop")
    ['orders']
    """
    return Catalog(open_default_catalog(warehouse, options))


def open_table(path: str | os.PathLike[str], **options: str) -> Table:
    """Open a table by its directory or URI, wherever it is.

    A table in a directory ``<warehouse>/<database>.db/`` is opened by its name in the catalog of this warehouse; any
    other one has its path for a name.

    Args:
        path: the directory; a branch may follow, as in ``orders$branch_audit``.
        **options: the options of its store, as of a catalog.

    Raises:
        NoSuchTableError: there is no table.

    >>> paimon_sql.open_table("warehouse/shop.db/orders").primary_key
    ('id',)
    """
    directory = absolute_warehouse(path).rstrip("/")
    warehouse, database, table = _in_warehouse(directory)
    if database:
        return open_catalog(warehouse, **options).table(f"{database}.{table}")
    return _opened(PathCatalog(DEFAULT_CATALOG, file_system=options), identifier_at(directory, options))


def _in_warehouse(directory: str) -> tuple[str, str, str]:
    """The warehouse, database and name of a table; the latter are empty for one that is in no warehouse."""
    parent, name = parent_of(directory), name_of(directory)
    database = name_of(parent)
    is_named = database.endswith(".db") and database != ".db"
    return (parent_of(parent) or "/", database.removesuffix(".db"), name) if is_named else ("", "", "")


def _opened(catalog: catalogs.Catalog, identifier: Identifier) -> Table:
    if identifier.system_table is not None:
        raise InvalidInputError(
            f"{identifier} is a system table.",
            remedy=f"Open the table, and call metadata('{identifier.system_table}').",
        )
    stored = catalogs.with_snapshots(catalogs.opened_or_suggested(catalog, identifier))
    return Table(stored, identifier, catalog)


def _identifier(name: str) -> Identifier:
    return parse_identifier(*_parts(name))


def _parts(name: str) -> tuple[str, str]:
    database, dot, rest = name.partition(".")
    if not dot or not database or not rest:
        raise InvalidInputError(f"'{name}' is not database.table.", remedy="Write, for example, default.orders.")
    return database, rest

"""Locations of new tables: the directory in the warehouse by which the catalog finds the table, or an external one.

The files of some table types may be external; the catalog then finds the table by its definition.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.table_types import kind_of
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.file_io.paths import join


def with_location(catalog: Catalog, identifier: Identifier, schema: TableSchema) -> TableSchema:
    """Return the schema of a new table, without the option ``path`` if it is the table's default location.

    Raises:
        InvalidInputError: the name is that of a branch or system table, or the table cannot have that location.
    """
    refuse_branches_and_system_tables(identifier, "created")
    path = schema.options.get(PATH.key)
    if path is None:
        return schema
    own = catalog.table_location(identifier)
    if _normalized(path) != _normalized(own):
        only_files_elsewhere = kind_of(schema).may_stand_elsewhere
        if only_files_elsewhere or catalog.stores_locations:
            location = _external_location(catalog, identifier, path, may_hold_table=not only_files_elsewhere)
            return replace(schema, options={**schema.options, PATH.key: location})
        raise InvalidInputError(
            f"Table {identifier} cannot have the location '{path}': catalog {catalog.name} finds tables by name, so its"
            f" location is '{own}'.",
            remedy="Leave LOCATION and 'path' out.",
        )
    return replace(schema, options={k: v for k, v in schema.options.items() if k != PATH.key})


def _external_location(catalog: Catalog, identifier: Identifier, path: str, *, may_hold_table: bool) -> str:
    """The normalized location outside of the table's default directory.

    Raises:
        InvalidInputError: it is not absolute, or has another table.
    """
    location = path.rstrip("/")
    if not location.startswith("/") and "://" not in location and not location.startswith("file:/"):
        raise InvalidInputError(
            f"Table {identifier} cannot have the location '{path}': a location is an absolute path or a URI."
        )
    if not may_hold_table and file_io_of(location, catalog.options).exists(join(location, "schema")):
        raise InvalidInputError(
            f"Table {identifier} cannot have the location '{path}', which contains another Paimon table."
        )
    return location


def refuse_branches_and_system_tables(identifier: Identifier, verb: str) -> None:
    """Raise if an identifier is that of a branch or a system table, which are parts of a table."""
    if identifier.system_table is not None or identifier.branch != MAIN_BRANCH:
        raise InvalidInputError(
            f"{identifier} cannot be {verb}: it is a part of table {identifier.database}.{identifier.table}.",
            remedy="A table name must not contain '$'." if verb == "created" else None,
        )


def _normalized(path: str) -> str:
    """The path normalized for comparison: with scheme, without ``..`` and trailing slash."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        scheme, rest = "file", path
    return f"{scheme.lower()}:{posixpath.normpath('/' + rest.lstrip('/') if scheme.lower() == 'file' else rest)}"

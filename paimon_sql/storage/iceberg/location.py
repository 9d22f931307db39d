"""Whether a table is published to Iceberg, and the directory of its metadata."""

from __future__ import annotations

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.options.table.iceberg import (
    CATALOG_LOCATION,
    DISABLED,
    METADATA_ICEBERG_STORAGE,
    METADATA_ICEBERG_STORAGE_LOCATION,
    TABLE_LOCATION,
)
from paimon_sql.storage.file_io.paths import name_of, parent_of
from paimon_sql.storage.table.table import Table

_DATABASE_ENDING = ".db"


def is_published(table: Table) -> bool:
    """Whether the table is published to Iceberg, as only the main branch is."""
    return table.options.get(METADATA_ICEBERG_STORAGE) != DISABLED and table.branch == MAIN_BRANCH


def database_folder(table: Table) -> str:
    """Return the parent of the table's Iceberg directory: the database's directory, or one in the Iceberg warehouse.

    Raises:
        InvalidOptionError: the location is the Iceberg warehouse, and the database's directory is not named
            ``<name>.db``.
    """
    storage = table.options.get(METADATA_ICEBERG_STORAGE)
    location = table.options.get(METADATA_ICEBERG_STORAGE_LOCATION) or (
        TABLE_LOCATION if storage == TABLE_LOCATION else CATALOG_LOCATION
    )
    directory = parent_of(table.path)
    if location == TABLE_LOCATION:
        return directory
    database = name_of(directory)
    if not database.endswith(_DATABASE_ENDING):
        raise InvalidOptionError(
            f"{table.name}: '{METADATA_ICEBERG_STORAGE.key}' = '{storage}' needs a database whose directory is"
            f" named <name>{_DATABASE_ENDING}, not '{database}'.",
            key=METADATA_ICEBERG_STORAGE.key,
            remedy=f"Set '{METADATA_ICEBERG_STORAGE_LOCATION.key}' to '{TABLE_LOCATION}'.",
        )
    return f"{parent_of(directory)}/iceberg/{database.removesuffix(_DATABASE_ENDING)}"


def metadata_folder(table: Table) -> str:
    """Return the directory of the table's Iceberg metadata."""
    return f"{database_folder(table)}/{name_of(table.path)}/metadata"

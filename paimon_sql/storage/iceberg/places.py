"""Where Iceberg's metadata of a table stand."""

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
    """Whether Iceberg's readers are to see the table; they see the main branch only."""
    return table.options.get(METADATA_ICEBERG_STORAGE) != DISABLED and table.branch == MAIN_BRANCH


def database_folder(table: Table) -> str:
    """The folder that holds the table's Iceberg folder: the database's own, or its part of the Iceberg warehouse.

    Raises:
        InvalidOptionError: the metadata are to stand in the warehouse, and the database is no folder ``<name>.db``.
    """
    storage = table.options.get(METADATA_ICEBERG_STORAGE)
    place = table.options.get(METADATA_ICEBERG_STORAGE_LOCATION) or (
        TABLE_LOCATION if storage == TABLE_LOCATION else CATALOG_LOCATION
    )
    folder = parent_of(table.path)
    if place == TABLE_LOCATION:
        return folder
    database = name_of(folder)
    if not database.endswith(_DATABASE_ENDING):
        raise InvalidOptionError(
            f"{table.name}: '{METADATA_ICEBERG_STORAGE.key}' = '{storage}' needs a database whose folder is called"
            f" <name>{_DATABASE_ENDING}, and not '{database}'.",
            key=METADATA_ICEBERG_STORAGE.key,
            remedy=f"Set '{METADATA_ICEBERG_STORAGE_LOCATION.key}' to '{TABLE_LOCATION}'.",
        )
    return f"{parent_of(folder)}/iceberg/{database.removesuffix(_DATABASE_ENDING)}"


def metadata_folder(table: Table) -> str:
    """The folder of Iceberg's metadata, as `database_folder` has it."""
    return f"{database_folder(table)}/{name_of(table.path)}/metadata"

"""Registry of system tables: one module each in this package, discovered automatically."""

from __future__ import annotations

from functools import cache

from paimon_sql.discovery import instances
from paimon_sql.system_tables.base import CatalogTable, ScannedTable, SystemTable, TableView

_PACKAGE = "paimon_sql.system_tables"


@cache
def system_tables() -> dict[str, SystemTable]:
    """System tables whose rows are computed from metadata, by name."""
    return instances(_PACKAGE, SystemTable)


@cache
def scanned_tables() -> dict[str, ScannedTable]:
    """System tables whose rows are those of the data table in another form, by name."""
    return instances(_PACKAGE, ScannedTable)


@cache
def table_views() -> dict[str, TableView]:
    """System tables that show the data table in another state, by name."""
    return instances(_PACKAGE, TableView)


@cache
def catalog_tables() -> dict[str, CatalogTable]:
    """Tables of ``sys``, about a whole catalog, by name."""
    return instances(_PACKAGE, CatalogTable)

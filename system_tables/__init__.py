"""System tables: one module each.

There are three kinds of tables ``t$name``: rows computed from metadata, rows of the table in another form, and the
table in another state. Tables about a whole catalog are ``sys.name``.

Rows that do not depend on the table are records: a module declares a `SystemTable` or `CatalogTable` with a dataclass
``Row``; columns, their description in SQL and the reference page follow from the declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from paimon_sql.discovery import instances
from paimon_sql.system_tables.base import CatalogTable, ScannedTable, SystemTable, TableView

__all__ = [
    "CatalogTable",
    "ScannedTable",
    "SystemTable",
    "TableView",
    "catalog_tables",
    "scanned_tables",
    "system_tables",
    "table_views",
]


@cache
def system_tables() -> Mapping[str, SystemTable]:
    """System tables whose rows are computed from metadata, by name."""
    return instances(__name__, SystemTable)


@cache
def scanned_tables() -> Mapping[str, ScannedTable]:
    """System tables whose rows are those of the data table in another form, by name."""
    return instances(__name__, ScannedTable)


@cache
def table_views() -> Mapping[str, TableView]:
    """System tables that show the data table in another state, by name."""
    return instances(__name__, TableView)


@cache
def catalog_tables() -> Mapping[str, CatalogTable]:
    """Tables of ``sys``, about a whole catalog, by name."""
    return instances(__name__, CatalogTable)

"""System tables: one module each, discovered automatically.

There are three kinds of tables ``t$name``: rows computed from metadata, rows of the table in another form, and the
table in another state. Tables about a whole catalog are ``sys.name``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from paimon_sql.discovery import implementations
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.scanned import ScannedTable
from paimon_sql.system_tables.views import TableView
from paimon_sql.system_tables.whole_catalog import CatalogTable

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

_Kind = TypeVar("_Kind", SystemTable, ScannedTable, TableView, CatalogTable)


@cache
def system_tables() -> dict[str, SystemTable]:
    """System tables whose rows are computed from metadata, by name."""
    return _found(SystemTable)


@cache
def scanned_tables() -> dict[str, ScannedTable]:
    """System tables whose rows are those of the data table in another form, by name."""
    return _found(ScannedTable)


@cache
def table_views() -> dict[str, TableView]:
    """System tables that show the data table in another state, by name."""
    return _found(TableView)


@cache
def catalog_tables() -> dict[str, CatalogTable]:
    """Tables of ``sys``, about a whole catalog, by name."""
    return _found(CatalogTable)


def _found(kind: Callable[..., _Kind]) -> dict[str, _Kind]:
    return dict(sorted((each.name, each()) for each in implementations(__name__, kind)))

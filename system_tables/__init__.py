"""The system tables: one module each, found by themselves.

There are three kinds of tables ``t$name``: those whose rows are worked out from metadata, those whose rows are the
table's in another form, and those that show the table in another state. Those about a whole catalog are ``sys.name``.
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
    """The system tables whose rows are worked out from metadata, by name."""
    return _found(SystemTable)


@cache
def scanned_tables() -> dict[str, ScannedTable]:
    """The system tables whose rows are those of the data table in another form, by name."""
    return _found(ScannedTable)


@cache
def table_views() -> dict[str, TableView]:
    """The system tables that show the data table in another state, by name."""
    return _found(TableView)


@cache
def catalog_tables() -> dict[str, CatalogTable]:
    """The tables of ``sys``, whose rows are about a whole catalog, by name."""
    return _found(CatalogTable)


def _found(kind: Callable[..., _Kind]) -> dict[str, _Kind]:
    return dict(sorted((each.name, each()) for each in implementations(__name__, kind)))

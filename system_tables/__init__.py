"""System tables: one module each.

There are three kinds of tables ``t$name``: rows computed from metadata, rows of the table in another form, and the
table in another state. Tables about a whole catalog are ``sys.name``.

Rows that do not depend on the table are records: a module declares a `SystemTable` or `CatalogTable` with a dataclass
``Row``; columns, their description in SQL and the reference page follow from the declaration.
"""

from __future__ import annotations

from paimon_sql.system_tables.base import CatalogTable, ScannedTable, SystemTable, TableView
from paimon_sql.system_tables.registry import catalog_tables, scanned_tables, system_tables, table_views

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

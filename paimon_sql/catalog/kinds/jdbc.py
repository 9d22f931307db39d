"""The kind of catalog ``jdbc``."""

from __future__ import annotations

from paimon_sql.catalog.kinds.base import CatalogKind


class JdbcKind(CatalogKind):
    """Rows of a relational database."""

    name = "jdbc"
    catalog = "paimon_sql.catalog.jdbc.catalog:JdbcCatalog"

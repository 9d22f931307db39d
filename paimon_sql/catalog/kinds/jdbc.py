"""The kind of catalog ``jdbc``."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.catalog.catalog import Catalog, Host
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.catalog.kinds.base import CatalogKind


class JdbcKind(CatalogKind):
    """Rows of a relational database."""

    name = "jdbc"

    def open(self, name: str, options: Mapping[str, str], host: Host) -> Catalog:
        return JdbcCatalog(name, options, host)

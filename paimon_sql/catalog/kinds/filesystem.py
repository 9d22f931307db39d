"""The kind of catalog ``filesystem``."""

from __future__ import annotations

from paimon_sql.catalog.kinds.base import CatalogKind


class FileSystemKind(CatalogKind):
    """A directory of databases."""

    name = "filesystem"
    catalog = "paimon_sql.catalog.filesystem_catalog:FileSystemCatalog"

"""The kind of catalog ``filesystem``."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.catalog.catalog import Catalog, Host
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.kinds.base import CatalogKind


class FileSystemKind(CatalogKind):
    """A directory of databases."""

    name = "filesystem"

    def open(self, name: str, options: Mapping[str, str], host: Host) -> Catalog:
        return FileSystemCatalog(name, options, host)

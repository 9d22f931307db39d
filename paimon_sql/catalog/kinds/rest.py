"""The kind of catalog ``rest``."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.catalog.catalog import Catalog, Host
from paimon_sql.catalog.kinds.base import CatalogKind, module_of_extra

CLIENT = "the client of REST catalogs"


class RestKind(CatalogKind):
    """A server."""

    name = "rest"
    has_directory = False

    def open(self, name: str, options: Mapping[str, str], host: Host) -> Catalog:
        module = module_of_extra("paimon_sql.catalog.rest.catalog", "rest", CLIENT, f"Catalog {name}")
        catalog: Catalog = module.RestCatalog(name, options, host)
        return catalog

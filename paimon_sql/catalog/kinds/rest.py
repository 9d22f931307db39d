"""The kind of catalog ``rest``."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.catalog.catalog import Catalog, Host
from paimon_sql.catalog.kinds.base import CatalogKind, of_extra

CLIENT = "the client of REST catalogs"


class RestKind(CatalogKind):
    """A server."""

    name = "rest"
    has_directory = False

    def open(self, name: str, options: Mapping[str, str], host: Host) -> Catalog:
        kind: type[Catalog] = of_extra("paimon_sql.catalog.rest.catalog:RestCatalog", "rest", CLIENT, f"Catalog {name}")
        return kind(name, options, host)

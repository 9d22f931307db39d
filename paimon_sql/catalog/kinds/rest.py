"""The kind of catalog ``rest``."""

from __future__ import annotations

from paimon_sql.catalog.kinds.base import CatalogKind


class RestKind(CatalogKind):
    """A server."""

    name = "rest"
    has_directory = False
    catalog = "paimon_sql.catalog.rest.catalog:RestCatalog"
    extra = "rest", "the client of REST catalogs"

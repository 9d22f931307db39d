"""The kind of catalog ``hive``."""

from __future__ import annotations

from paimon_sql.catalog.kinds.base import CatalogKind


class HiveKind(CatalogKind):
    """Entries of Hive's metastore; DROP retains the files of an EXTERNAL TABLE at any location."""

    name = "hive"
    stores_external = True
    catalog = "paimon_sql.catalog.hive.catalog:HiveCatalog"
    extra = "hive", "the client of Hive's metastore"

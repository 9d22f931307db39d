"""The kind of catalog ``hive``."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.catalog.catalog import Catalog, Host
from paimon_sql.catalog.kinds.base import CatalogKind, of_extra

CLIENT = "the client of Hive's metastore"


class HiveKind(CatalogKind):
    """Entries of Hive's metastore; DROP retains the files of an EXTERNAL TABLE at any location."""

    name = "hive"
    stores_external = True

    def open(self, name: str, options: Mapping[str, str], host: Host) -> Catalog:
        kind: type[Catalog] = of_extra("paimon_sql.catalog.hive.catalog:HiveCatalog", "hive", CLIENT, f"Catalog {name}")
        return kind(name, options, host)

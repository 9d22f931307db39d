"""Proxy of a Paimon catalog: all that Spark asks of a catalog, from the parts that each topic has."""

from __future__ import annotations

from collections.abc import Hashable

from paimon_sql.spark.catalog.definitions import TableDefinitions
from paimon_sql.spark.catalog.namespaces import Namespaces
from paimon_sql.spark.catalog.routines import Routines
from paimon_sql.spark.catalog.views import Views


class CatalogProxy(Namespaces, TableDefinitions, Views, Routines):
    """One catalog of one session."""

    def _is_like(self, other: CatalogProxy) -> bool:
        mine, theirs = self.catalog, other.catalog
        return mine.name == theirs.name and mine.options == theirs.options

    def _trait(self) -> Hashable:
        return self.catalog.name

    def toString(self) -> str:
        return f"paimon catalog {self.catalog.name}"

    def name(self) -> str:
        return self.catalog.name

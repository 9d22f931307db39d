"""``sys.consumers``: the consumers of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import CatalogTable, View
from paimon_sql.system_tables.every_table import OfTable, rows_of_all
from paimon_sql.system_tables.history.consumers import Consumers


class AllConsumers(CatalogTable):
    """The rows of ``t$consumers`` of the main branch of every table ``t``; tables that cannot be read are omitted."""

    name = "consumers"
    summary = "One row per consumer of each table."

    class Row(Consumers.Row, OfTable):
        """A consumer, after the names of its table."""

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return rows_of_all(view.catalog, Consumers(), predicate)

"""``sys.consumers``: the consumers of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.every_table import NAMES, rows_of_all
from paimon_sql.system_tables.history.consumers import Consumers
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class AllConsumers(CatalogTable):
    """The rows of ``t$consumers`` of every table ``t``, of its main branch; one that cannot be read has none here."""

    name = "consumers"
    summary = "One row per consumer of each table."
    columns = (*NAMES, *Consumers.columns)

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return rows_of_all(view.catalog, Consumers(), predicate)

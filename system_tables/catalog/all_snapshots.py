"""``sys.snapshots``: the snapshots of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.every_table import NAMES, rows_of_all
from paimon_sql.system_tables.history.snapshots import Snapshots
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class AllSnapshots(CatalogTable):
    """The rows of ``t$snapshots`` of every table ``t``, of its main branch; one that cannot be read has none here."""

    name = "snapshots"
    summary = "One row per retained snapshot of each table."
    columns = (*NAMES, *Snapshots.columns)

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return rows_of_all(view.catalog, Snapshots(), predicate)

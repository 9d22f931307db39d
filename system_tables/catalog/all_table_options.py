"""``sys.all_table_options``: the options of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.records import column
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import CatalogTable, View
from paimon_sql.system_tables.every_table import OfTable, map_tables


class AllTableOptions(CatalogTable):
    """The stored options of all tables, and the directory of each as its option ``path``.

    Tables that cannot be read are omitted.
    """

    summary = "One row per table option that is set."
    is_listed = True

    class Row(OfTable):
        key: str | None = column("name of the option")
        value: str | None = column("its value")

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return self.of_records(
            self.Row(i.database, i.table, key, value)
            for i, table in map_tables(view.catalog, predicate, view.catalog.any_table)
            if table is not None
            for key, value in {"path": table.path, **table.schema.options}.items()
        )

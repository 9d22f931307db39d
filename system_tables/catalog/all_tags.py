"""``sys.tags``: the tags of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import CatalogTable, View
from paimon_sql.system_tables.every_table import OfTable, rows_of_all
from paimon_sql.system_tables.history.tags import Tags


class AllTags(CatalogTable):
    """The rows of ``t$tags`` of the main branch of every table ``t``; tables that cannot be read are omitted."""

    name = "tags"
    summary = "One row per tag of each table."

    class Row(Tags.Row, OfTable):
        """A tag, after the names of its table."""

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return rows_of_all(view.catalog, Tags(), predicate)

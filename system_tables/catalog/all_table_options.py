"""``sys.all_table_options``: the options of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.every_table import NAMES, map_any_tables
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class AllTableOptions(CatalogTable):
    """The stored options of all tables, and the folder of each as its option ``path``.

    A table that cannot be read has no row here.
    """

    name = "all_table_options"
    summary = "One row per table option that is set."
    is_listed = True
    columns = (
        *NAMES,
        column("key", string_type(), "name of the option"),
        column("value", string_type(), "its value"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        found = [
            {"database_name": i.database, "table_name": i.table, "key": key, "value": value}
            for i, options in map_any_tables(view.catalog, predicate, _options)
            for key, value in (options or {}).items()
        ]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


def _options(table: AnyTable) -> dict[str, str]:
    return {"path": table.path, **table.schema.options}

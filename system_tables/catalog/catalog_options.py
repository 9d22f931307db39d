"""``sys.catalog_options``: the options of the catalog."""

from __future__ import annotations

import re

import pyarrow as pa

from paimon_sql.catalog.base import Catalog
from paimon_sql.format.options.engines.catalog import CATALOG_OPTIONS_TABLE_ENABLED
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.whole_catalog import CatalogTable, View

_SECRET = re.compile(r"secret|password|token|credential|access[-._]?key", re.IGNORECASE)
_HIDDEN = "******"


class CatalogOptions(CatalogTable):
    """The options that the catalog was made with; it exists where `catalog-options-table.enabled` is true.

    The values of keys that sound of a secret are hidden.
    """

    name = "catalog_options"
    summary = "One row per option of the catalog."
    is_listed = True
    columns = (
        column("key", string_type(False), "name of the option"),
        column("value", string_type(False), "its value"),
    )

    def exists_in(self, catalog: Catalog) -> bool:
        option = CATALOG_OPTIONS_TABLE_ENABLED
        return bool(option.read(catalog.options.get(option.key, option.default_text or "false")))

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        found = [
            {"key": key, "value": _HIDDEN if _SECRET.search(key) else value}
            for key, value in sorted(view.catalog.options.items())
        ]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))

"""``sys.catalog_options``: the options of the catalog."""

from __future__ import annotations

import re
from collections.abc import Iterable

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.format.options.engines.catalog import CATALOG_OPTIONS_TABLE_ENABLED
from paimon_sql.format.schema.records import Record, column
from paimon_sql.system_tables.base import CatalogTable, RecordTable, View

_SECRET = re.compile(r"secret|password|token|credential|access[-._]?key", re.IGNORECASE)
_HIDDEN = "******"


class CatalogOptions(RecordTable[View], CatalogTable):
    """The options of the catalog; exists if `catalog-options-table.enabled` is true.

    The values of keys that may be secret are hidden.
    """

    summary = "One row per option of the catalog."
    is_listed = True

    class Row(Record):
        key: str = column("name of the option")
        value: str = column("its value")

    def exists_in(self, catalog: Catalog) -> bool:
        option = CATALOG_OPTIONS_TABLE_ENABLED
        return bool(option.read(catalog.options.get(option.key, option.default_text or "false")))

    def records(self, view: View) -> Iterable[Row]:
        for key, value in sorted(view.catalog.options.items()):
            yield self.Row(key, _HIDDEN if _SECRET.search(key) else value)

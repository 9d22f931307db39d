"""``sys.tables``: the tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.every_table import NAMES, map_any_tables
from paimon_sql.system_tables.whole_catalog import CatalogTable, View

_NUMBERS = ("created_at", "updated_at")
_STRINGS = ("owner", "created_by", "updated_by")


class AllTables(CatalogTable):
    """The tables of all databases, by name; views are not among them.

    A table that cannot be read is listed with its names alone, and its ``table_type`` is null. Counts are known to
    REST catalogs only, and so is who made and changed a table unless its options say so.
    """

    name = "tables"
    summary = "One row per table."
    is_listed = True
    columns = (
        *NAMES,
        column("table_type", string_type(), "the option type: table, unless it says otherwise"),
        column("partitioned", BooleanType(), "whether it has partition columns"),
        column("primary_key", BooleanType(), "whether it has a primary key"),
        column("owner", string_type(), "the option owner"),
        column("created_at", BigIntType(), "when it was made, in milliseconds since the epoch"),
        column("created_by", string_type(), "who made it"),
        column("updated_at", BigIntType(), "when it was changed last, in milliseconds since the epoch"),
        column("updated_by", string_type(), "who changed it last"),
        column("record_count", BigIntType(), "from REST catalogs only"),
        column("file_size_in_bytes", BigIntType(), "from REST catalogs only"),
        column("file_count", BigIntType(), "from REST catalogs only"),
        column("last_file_creation_time", BigIntType(), "from REST catalogs only"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        answers = map_any_tables(view.catalog, predicate, _facts)
        found = [{"database_name": i.database, "table_name": i.table, **(facts or {})} for i, facts in answers]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


def _facts(table: AnyTable) -> dict[str, object]:
    options = table.schema.options
    return {
        "table_type": options.get("type", "table"),
        "partitioned": bool(table.schema.partition_keys),
        "primary_key": bool(table.schema.primary_keys),
        **{name: options.get(name) for name in _STRINGS},
        **{name: _number(options.get(name)) for name in _NUMBERS},
    }


def _number(text: str | None) -> int | None:
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if -(2**63) <= number < 2**63 else None

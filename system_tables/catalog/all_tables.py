"""``sys.tables``: the tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.schema.records import Long, column
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import CatalogTable, View
from paimon_sql.system_tables.every_table import OfTable, map_tables


class AllTables(CatalogTable):
    """The tables of all databases, by name; views are not included.

    A table that cannot be read is listed only with its names, and its ``table_type`` is null. Only REST catalogs
    provide counts, and who created and changed a table unless its options record it.
    """

    name = "tables"
    summary = "One row per table."
    is_listed = True

    class Row(OfTable):
        table_type: str | None = column("the option type; table by default", default=None)
        partitioned: bool | None = column("whether it has partition columns", default=None)
        primary_key: bool | None = column("whether it has a primary key", default=None)
        owner: str | None = column("the option owner", default=None)
        created_at: Long | None = column("when it was created, in milliseconds since the epoch", default=None)
        created_by: str | None = column("who created it", default=None)
        updated_at: Long | None = column("when it was last changed, in milliseconds since the epoch", default=None)
        updated_by: str | None = column("who last changed it", default=None)
        record_count: Long | None = column("from REST catalogs only", default=None)
        file_size_in_bytes: Long | None = column("from REST catalogs only", default=None)
        file_count: Long | None = column("from REST catalogs only", default=None)
        last_file_creation_time: Long | None = column("from REST catalogs only", default=None)

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        answers = map_tables(view.catalog, predicate, view.catalog.any_table)
        return self.of_records(_row(identifier, table) for identifier, table in answers)


def _row(identifier: Identifier, table: AnyTable | None) -> AllTables.Row:
    if table is None:
        return AllTables.Row(identifier.database, identifier.table)
    options = table.schema.options
    return AllTables.Row(
        database_name=identifier.database,
        table_name=identifier.table,
        table_type=options.get("type", "table"),
        partitioned=bool(table.schema.partition_keys),
        primary_key=table.schema.has_key,
        owner=options.get("owner"),
        created_at=_number(options.get("created_at")),
        created_by=options.get("created_by"),
        updated_at=_number(options.get("updated_at")),
        updated_by=options.get("updated_by"),
    )


def _number(text: str | None) -> int | None:
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if -(2**63) <= number < 2**63 else None

"""``sys.materialized_tables``: the materialized tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.records import Long, Timestamp, column
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.materialized.definition import definition_of, is_materialized
from paimon_sql.storage.materialized.refresh import is_due, last_refresh
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import CatalogTable, View
from paimon_sql.system_tables.every_table import OfTable, map_tables
from paimon_sql.system_tables.formatting import wall_clock


class MaterializedTables(CatalogTable):
    """Their definitions, and the last refresh of each, as far as its snapshots record it.

    Tables that cannot be read, or whose definition is incomplete, are omitted.
    """

    summary = "One row per materialized table."

    class Row(OfTable):
        definition_query: str | None = column("its query, with qualified names")
        freshness: str | None = column("the max age of its rows, as in FRESHNESS")
        refresh_mode: str | None = column("CONTINUOUS or FULL")
        logical_refresh_mode: str | None = column("the requested mode; AUTOMATIC decides by the freshness")
        status: str | None = column("ACTIVATED, or SUSPENDED if it is not refreshed automatically")
        last_refresh: Timestamp | None = column("the last refresh; null if unknown")
        last_mode: str | None = column("mode of the last refresh: FULL or INCREMENTAL")
        snapshot_id: Long | None = column("its latest snapshot; null without any")
        due: bool | None = column("whether the next call of refresh_materialized_tables refreshes it")
        refresh_handler: str | None = column("the Flink job that refreshes it; null without one")

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        answers = map_tables(view.catalog, predicate, lambda name: _row(name, view.catalog.table(name)))
        return self.of_records(row for _, row in answers if row is not None)


def materialized_names(catalog: Catalog, database: str) -> list[str]:
    """The names of a database's materialized tables, sorted.

    Raises:
        NoSuchDatabaseError: there is no such database.
    """
    return [name for name in catalog.list_tables(database) if catalog.has_materialized(Identifier(database, name))]


def _row(identifier: Identifier, table: Table) -> MaterializedTables.Row | None:
    if not is_materialized(table.schema):
        return None
    definition, latest = definition_of(table.schema, table.name), table.snapshots.latest()
    state = last_refresh(table, latest)
    refreshed = state.refreshed if state else None
    return MaterializedTables.Row(
        database_name=identifier.database,
        table_name=identifier.table,
        definition_query=definition.query,
        freshness=str(definition.freshness),
        refresh_mode=definition.mode,
        logical_refresh_mode=definition.logical_mode,
        status=definition.status,
        last_refresh=None if refreshed is None else wall_clock(refreshed),
        last_mode=state.mode if state else None,
        snapshot_id=latest.id if latest else None,
        due=not definition.is_suspended and not definition.handler and is_due(definition, state, current_millis()),
        refresh_handler=definition.handler,
    )

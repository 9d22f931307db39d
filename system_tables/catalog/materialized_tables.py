"""``sys.materialized_tables``: the materialized tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, BooleanType, TimestampType, string_type
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.materialized.definition import definition_of, is_materialized
from paimon_sql.storage.materialized.state import is_due, last_refresh
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.every_table import NAMES, map_tables
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class MaterializedTables(CatalogTable):
    """What they are made of, and when each was last brought up to date, as far as its snapshots tell.

    A table that cannot be read, or whose definition is not whole, has no row here.
    """

    name = "materialized_tables"
    summary = "One row per materialized table."
    columns = (
        *NAMES,
        column("definition_query", string_type(), "its query, with whole names"),
        column("freshness", string_type(), "how old its rows may be, as FRESHNESS says it"),
        column("refresh_mode", string_type(), "CONTINUOUS or FULL"),
        column("logical_refresh_mode", string_type(), "the same as it was asked for; AUTOMATIC: by the freshness"),
        column("status", string_type(), "ACTIVATED, or SUSPENDED if it is left alone"),
        column("last_refresh", TimestampType(True, 3), "when it was brought up to date; null if nobody can tell"),
        column("last_mode", string_type(), "how: FULL or INCREMENTAL"),
        column("snapshot_id", BigIntType(), "its newest snapshot; null without any"),
        column("due", BooleanType(), "whether the next call of refresh_materialized_tables looks after it"),
        column("refresh_handler", string_type(), "the job of Flink's that keeps it up to date; null if none does"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        answers = map_tables(view.catalog, predicate, _facts)
        found = [{"database_name": i.database, "table_name": i.table, **facts} for i, facts in answers if facts]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


def materialized_names(catalog: Catalog, database: str) -> list[str]:
    """The names of a database's materialized tables, sorted.

    Raises:
        NoSuchDatabaseError: there is no such database.
    """
    return [name for name in catalog.list_tables(database) if catalog.has_materialized(Identifier(database, name))]


def _facts(table: Table) -> dict[str, object] | None:
    if not is_materialized(table.schema):
        return None
    definition, state = definition_of(table.schema, table.name), last_refresh(table)
    refreshed = state.refreshed if state else None
    return {
        "definition_query": definition.query,
        "freshness": str(definition.freshness),
        "refresh_mode": definition.mode,
        "logical_refresh_mode": definition.logical_mode,
        "status": definition.status,
        "last_refresh": None if refreshed is None else wall_clock(refreshed),
        "last_mode": state.mode if state else None,
        "snapshot_id": table.snapshots.latest_id(),
        "due": not definition.is_suspended and not definition.handler and is_due(definition, state, current_millis()),
        "refresh_handler": definition.handler,
    }

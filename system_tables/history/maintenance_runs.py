"""``sys.maintenance_runs``: the log of maintenance."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, MapType, TimestampType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.metadata.environment.maintenance_log import MaintenanceRun
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class MaintenanceRuns(CatalogTable):
    """Calls of procedures, and what tables did by themselves after commits where that changed something or failed.

    The catalog's option `maintenance-runs.retained` says how many are remembered. Those of other engines are not known.
    """

    name = "maintenance_runs"
    summary = "One row per run of maintenance, the oldest first."
    columns = (
        column("started_at", TimestampType(False, 3), "when it began"),
        column("catalog_name", string_type(False), "the catalog's name in the session that asked for it"),
        column("database_name", string_type(), "the table's database; null where it was about several"),
        column("table_name", string_type(), "the table, with its branch; null where it was about several"),
        column("procedure", string_type(False), "the procedure, or the one that does what a commit brought about"),
        column("trigger", string_type(False), "call, or commit for what a table did by itself after one"),
        column("arguments", MapType(False, string_type(), string_type()), "the arguments that were given"),
        column("dry_run", BooleanType(False), "whether nothing was to be changed"),
        column("snapshot_before", BigIntType(), "the newest snapshot before; null without any"),
        column("snapshot_after", BigIntType(), "the newest snapshot afterwards"),
        column("counts", MapType(False, string_type(), BigIntType()), "the numbers of its answer, by column"),
        column("seconds", DoubleType(False), "how long it took"),
        column("note", string_type(), "what the answer says beside its numbers"),
        column("error", string_type(), "why it failed; null if it did not"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        log = view.catalog.run_log
        found = [_row(run) for run in (log.runs() if log else ())]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


def _row(run: MaintenanceRun) -> dict[str, object]:
    return {
        "started_at": wall_clock(run.started_millis),
        "catalog_name": run.catalog,
        "database_name": run.database,
        "table_name": run.table,
        "procedure": run.procedure,
        "trigger": run.trigger,
        "arguments": list(run.arguments.items()),
        "dry_run": run.dry_run,
        "snapshot_before": run.snapshot_before,
        "snapshot_after": run.snapshot_after,
        "counts": list(run.counts.items()),
        "seconds": run.seconds,
        "note": run.note,
        "error": run.error,
    }

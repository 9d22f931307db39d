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
    """Calls of procedures, and automatic maintenance after commits if it changed something or failed.

    The catalog's option `maintenance-runs.retained` limits how many are stored. Runs of other engines are not recorded.
    """

    name = "maintenance_runs"
    summary = "One row per maintenance run, the oldest first."
    columns = (
        column("started_at", TimestampType(False, 3), "when it began"),
        column("catalog_name", string_type(False), "the name of the catalog in the session that ran it"),
        column("database_name", string_type(), "the database; null for runs on several"),
        column("table_name", string_type(), "the table, with its branch; null for runs on several"),
        column("procedure", string_type(False), "the procedure, or that of the automatic maintenance"),
        column("trigger", string_type(False), "call, or commit for automatic maintenance after a commit"),
        column("arguments", MapType(False, string_type(), string_type()), "the arguments"),
        column("dry_run", BooleanType(False), "whether it was a dry run"),
        column("snapshot_before", BigIntType(), "the latest snapshot before; null without any"),
        column("snapshot_after", BigIntType(), "the latest snapshot afterwards"),
        column("counts", MapType(False, string_type(), BigIntType()), "the numbers in its result, by column"),
        column("seconds", DoubleType(False), "duration"),
        column("note", string_type(), "the note in its result"),
        column("error", string_type(), "the error; null on success"),
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

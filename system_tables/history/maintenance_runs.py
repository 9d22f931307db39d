"""``sys.maintenance_runs``: the log of maintenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from paimon_sql.format.schema.records import Long, Record, StringMap, Timestamp, column
from paimon_sql.format.schema.types import BigIntType, MapType, string_type
from paimon_sql.system_tables.base import CatalogTable, RecordTable, View
from paimon_sql.system_tables.formatting import wall_clock

_Counts = Annotated[Mapping[str, int], MapType(True, string_type(), BigIntType())]


class MaintenanceRuns(RecordTable[View], CatalogTable):
    """Calls of procedures, and automatic maintenance after commits if it changed something or failed.

    The catalog's option `maintenance-runs.retained` limits how many are stored. Runs of other engines are not recorded.
    """

    summary = "One row per maintenance run, the oldest first."

    class Row(Record):
        started_at: Timestamp = column("when it began")
        catalog_name: str = column("the name of the catalog in the session that ran it")
        database_name: str | None = column("the database; null for runs on several")
        table_name: str | None = column("the table, with its branch; null for runs on several")
        procedure: str = column("the procedure, or that of the automatic maintenance")
        trigger: str = column("call, or commit for automatic maintenance after a commit")
        arguments: StringMap = column("the arguments")
        dry_run: bool = column("whether it was a dry run")
        snapshot_before: Long | None = column("the latest snapshot before; null without any")
        snapshot_after: Long | None = column("the latest snapshot afterwards")
        counts: _Counts = column("the numbers in its result, by column")
        seconds: float = column("duration")
        note: str | None = column("the note in its result")
        error: str | None = column("the error; null on success")

    def records(self, view: View) -> Iterable[object]:
        log = view.catalog.run_log
        for run in log.runs() if log else ():
            yield self.row(
                run,
                started_at=wall_clock(run.started_millis),
                catalog_name=run.catalog,
                database_name=run.database,
                table_name=run.table,
            )

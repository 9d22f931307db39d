"""``sys.maintenance_runs``: the log of maintenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from paimon_sql.format.schema.records import Long, StringMap, Timestamp, column
from paimon_sql.format.schema.types import BigIntType, MapType, string_type
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.whole_catalog import CatalogTable, View

_Counts = Annotated[Mapping[str, int], MapType(True, string_type(), BigIntType())]


class MaintenanceRuns(CatalogTable):
    """Calls of procedures, and what tables did by themselves after commits where that changed something or failed.

    The catalog's option `maintenance-runs.retained` says how many are remembered. Those of other engines are not known.
    """

    summary = "One row per run of maintenance, the oldest first."

    @dataclass(frozen=True)
    class Row:
        started_at: Timestamp = column("when it began")
        catalog_name: str = column("the catalog's name in the session that asked for it")
        database_name: str | None = column("the table's database; null where it was about several")
        table_name: str | None = column("the table, with its branch; null where it was about several")
        procedure: str = column("the procedure, or the one that does what a commit brought about")
        trigger: str = column("call, or commit for what a table did by itself after one")
        arguments: StringMap = column("the arguments that were given")
        dry_run: bool = column("whether nothing was to be changed")
        snapshot_before: Long | None = column("the newest snapshot before; null without any")
        snapshot_after: Long | None = column("the newest snapshot afterwards")
        counts: _Counts = column("the numbers of its answer, by column")
        seconds: float = column("how long it took")
        note: str | None = column("what the answer says beside its numbers")
        error: str | None = column("why it failed; null if it did not")

    def records(self, view: View) -> Iterable[Row]:
        log = view.catalog.run_log
        for run in log.runs() if log else ():
            yield self.Row(
                started_at=wall_clock(run.started_millis),
                catalog_name=run.catalog,
                database_name=run.database,
                table_name=run.table,
                procedure=run.procedure,
                trigger=run.trigger,
                arguments=run.arguments,
                dry_run=run.dry_run,
                snapshot_before=run.snapshot_before,
                snapshot_after=run.snapshot_after,
                counts=run.counts,
                seconds=run.seconds,
                note=run.note,
                error=run.error,
            )

"""``CALL sys.refresh_materialized_table``: refresh one materialized table."""

from __future__ import annotations

from typing import TypeVar

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, listed_partitions
from paimon_sql.procedures.refresher import RefreshResult

R = TypeVar("R", bound="RefreshMaterializedTable.Result")


class RefreshMaterializedTable(Procedure):
    """Same as `ALTER MATERIALIZED TABLE .. REFRESH`, also for a suspended table.

    Without partitions the whole table is refreshed: if its sources have not changed, nothing is done; a CONTINUOUS
    table is refreshed incrementally where the result is exact; otherwise all rows are recomputed. A refresh is one
    snapshot.
    """

    summary = "Refresh a materialized table."
    example = "CALL sys.refresh_materialized_table(table => 'db.daily', partitions => 'dt=2024-01-01')"

    class Arguments(OfTable, kw_only=True):
        partitions: str | None = optional(PARTITIONS)

    class Result(Record):
        table: str = column("the table")
        mode: str = column("FULL, INCREMENTAL, or NONE if nothing was due")
        partitions: str | None = column("the partitions; null for the whole table")
        rows: Long | None = column("number of written rows; null if none were due, or in a dry run")
        snapshot_id: Long | None = column("the created snapshot; null without one")
        seconds: float = column("duration in seconds")
        note: str = column("why this mode was chosen")

        @classmethod
        def of(cls: type[R], identifier: Identifier, done: RefreshResult) -> R:
            """The result row for a refresh."""
            table = str(identifier)
            return cls(table, done.mode, done.partitions, done.rows, done.snapshot, done.seconds, done.note)

    def call(self, context: Context, arguments: Arguments) -> Result:
        catalog, identifier = context.locate(arguments.table)
        if catalog is not context.catalog:
            raise InvalidInputError(
                f"{arguments.table} is in another catalog.", remedy=f"CALL {catalog.name}.sys.{self.name}."
            )
        table = context.table(arguments.table)
        partitions = listed_partitions(table, arguments.partitions)
        done = context.require_refresher().refresh(identifier, partitions, dry_run=arguments.dry_run)
        return self.Result.of(identifier, done)

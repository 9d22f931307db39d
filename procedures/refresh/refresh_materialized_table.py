"""``CALL sys.refresh_materialized_table``: refresh one materialized table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, optional, required
from paimon_sql.procedures.partition_choice import PARTITIONS, listed_partitions
from paimon_sql.procedures.refresher import RefreshResult
from paimon_sql.procedures.values import DRY_RUN


class RefreshMaterializedTable(Procedure):
    """What `ALTER MATERIALIZED TABLE .. REFRESH` does, also for a table that is suspended.

    Without partitions the whole table is brought up to date: if nothing that it reads has changed, nothing is done; a
    CONTINUOUS one takes what is new alone where that is exact; else all rows are worked out anew. It is one snapshot in
    any case.
    """

    summary = "Bring a materialized table up to date."
    example = "CALL sys.refresh_materialized_table(table => 'db.daily', partitions => 'dt=2024-01-01')"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        partitions: str | None = optional(PARTITIONS)
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        table: str = column("the table")
        mode: str = column("FULL, INCREMENTAL, or NONE if nothing was to do")
        partitions: str | None = column("the partitions; null for the whole table")
        rows: Long | None = column("rows that were written; null if none were to be, or in a dry run")
        snapshot_id: Long | None = column("the snapshot that was made; null if none was")
        seconds: float = column("how long it took")
        note: str = column("why it was done in this way, or not")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        catalog, identifier = context.locate(arguments.table)
        if catalog is not context.catalog:
            raise InvalidInputError(
                f"{arguments.table} is of another catalog.", remedy=f"CALL {catalog.name}.sys.{self.name}."
            )
        table = context.table(arguments.table)
        partitions = listed_partitions(table, arguments.partitions)
        done = context.require_refresher().refresh(identifier, partitions, dry_run=bool(arguments.dry_run))
        yield self.Result(*refresh_row(identifier, done))


def refresh_row(
    identifier: Identifier, done: RefreshResult
) -> tuple[str, str, str | None, int | None, int | None, float, str]:
    """The values of a result row for a refresh."""
    return str(identifier), done.mode, done.partitions, done.rows, done.snapshot, done.seconds, done.note

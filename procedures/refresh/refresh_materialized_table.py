"""``CALL sys.refresh_materialized_table``: refresh one materialized table."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import Context, OfTable, Procedure, Record, column, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, listed_partitions
from paimon_sql.procedures.refresher import RefreshResult


class RefreshedTable(Record):
    """The first result column of refreshes."""

    table: str = column("the table")


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

    class Result(RefreshResult, RefreshedTable):
        """The result of a refresh, after the name of the table."""

    def call(self, context: Context, arguments: Arguments) -> Result:
        catalog, identifier = context.locate(arguments.table)
        if catalog is not context.catalog:
            raise InvalidInputError(
                f"{arguments.table} is in another catalog.", remedy=f"CALL {catalog.name}.sys.{self.name}."
            )
        table = context.table(arguments.table)
        partitions = listed_partitions(table, arguments.partitions)
        done = context.require_refresher().refresh(identifier, partitions, dry_run=arguments.dry_run)
        return self.Result(table=str(identifier), **vars(done))

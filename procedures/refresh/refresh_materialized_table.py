"""``CALL sys.refresh_materialized_table``: bring one materialized table up to date."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.partition_choice import PARTITIONS, listed_partitions
from paimon_sql.procedures.refresher import Refreshed
from paimon_sql.procedures.values import DRY_RUN


def refresh_row(identifier: Identifier, done: Refreshed) -> tuple[Any, ...]:
    """A refresh as a row of the answer."""
    return str(identifier), done.mode, done.partitions, done.rows, done.snapshot, done.seconds, done.note


class RefreshMaterializedTable(Procedure):
    """What `ALTER MATERIALIZED TABLE .. REFRESH` does, also for a table that is suspended.

    Without partitions the whole table is brought up to date: if nothing that it reads has changed, nothing is done; a
    CONTINUOUS one takes what is new alone where that is exact; else all rows are worked out anew. It is one snapshot in
    any case.
    """

    name = "refresh_materialized_table"
    summary = "Bring a materialized table up to date."
    arguments = (TABLE, PARTITIONS, DRY_RUN)
    results = (
        result("table", string_type(), "the table"),
        result("mode", string_type(), "FULL, INCREMENTAL, or NONE if nothing was to do"),
        result("partitions", string_type(), "the partitions; null for the whole table"),
        result("rows", BigIntType(), "rows that were written; null if none were to be, or in a dry run"),
        result("snapshot_id", BigIntType(), "the snapshot that was made; null if none was"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why it was done in this way, or not"),
    )
    example = "CALL sys.refresh_materialized_table(table => 'db.daily', partitions => 'dt=2024-01-01')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        catalog, identifier = context.locate(arguments["table"])
        if catalog is not context.catalog:
            raise InvalidInputError(
                f"{arguments['table']} is of another catalog.", remedy=f"CALL {catalog.name}.sys.{self.name}."
            )
        table = context.table(arguments["table"])
        partitions = listed_partitions(table, arguments["partitions"])
        done = context.the_refresher().refresh(identifier, partitions, dry_run=bool(arguments["dry_run"]))
        return [refresh_row(identifier, done)]

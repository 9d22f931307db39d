"""``CALL sys.rollback_to_timestamp``: take a table back to a time."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure
from paimon_sql.procedures.snapshots.rollback import DETAILS, RESULTS, answer
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_time


class RollbackToTimestamp(Procedure):
    """The last snapshot that was committed at or before the time becomes the newest."""

    name = "rollback_to_timestamp"
    summary = "Take a table back to its last snapshot at or before a time."
    arguments = (TABLE, Argument("timestamp", BigIntType(), "Milliseconds since the epoch.", required=True), DRY_RUN)
    results = RESULTS
    details = DETAILS
    example = "CALL sys.rollback_to_timestamp(table => 'db.t', timestamp => 1735689600000)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        return [answer(rollback_to_time(table, arguments["timestamp"], dry_run=dry_run), dry_run=dry_run)]

"""``CALL sys.rollback_to_timestamp``: roll a table back to a time."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, optional, required
from paimon_sql.procedures.snapshots.rollback import Rollback, rollback_record
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_time


class RollbackToTimestamp(Procedure):
    """The last snapshot that was committed at or before the time becomes the latest."""

    summary = "Roll a table back to its last snapshot at or before a time."
    example = "CALL sys.rollback_to_timestamp(table => 'db.t', timestamp => 1735689600000)"

    class Arguments(OfTable, kw_only=True):
        timestamp: Long = required("Milliseconds since the epoch.")
        dry_run: bool | None = optional(DRY_RUN)

    Result = Rollback.Result

    def call(self, context: Context, arguments: Arguments) -> Iterable[Rollback.Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        yield rollback_record(rollback_to_time(table, arguments.timestamp, dry_run=dry_run), dry_run=dry_run)

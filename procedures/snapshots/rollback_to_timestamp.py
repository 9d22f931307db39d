"""``CALL sys.rollback_to_timestamp``: roll a table back to a time."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, required
from paimon_sql.procedures.snapshots.rollback import Rollback, rollback_record
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_time


class RollbackToTimestamp(Procedure):
    """The last snapshot that was committed at or before the time becomes the latest."""

    summary = "Roll a table back to its last snapshot at or before a time."
    example = "CALL sys.rollback_to_timestamp(table => 'db.t', timestamp => 1735689600000)"

    class Arguments(OfTable, kw_only=True):
        timestamp: Long = required("Milliseconds since the epoch.")

    Result = Rollback.Result

    def call(self, context: Context, arguments: Arguments) -> Rollback.Result:
        table = context.table(arguments.table)
        return rollback_record(rollback_to_time(table, arguments.timestamp, dry_run=arguments.dry_run), arguments)

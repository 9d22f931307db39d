"""``CALL sys.rollback_to_watermark``: roll a table back to a watermark."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, required
from paimon_sql.procedures.snapshots.rollback import Rollback, rollback_record
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_watermark


class RollbackToWatermark(Procedure):
    """The first snapshot that reached the watermark becomes the latest."""

    summary = "Roll a table back to its first snapshot that reached a watermark."
    example = "CALL sys.rollback_to_watermark(table => 'db.t', watermark => 1735689600000)"

    class Arguments(OfTable, kw_only=True):
        watermark: Long = required("The watermark in milliseconds.")

    Result = Rollback.Result

    def call(self, context: Context, arguments: Arguments) -> Rollback.Result:
        table = context.table(arguments.table)
        return rollback_record(rollback_to_watermark(table, arguments.watermark, dry_run=arguments.dry_run), arguments)

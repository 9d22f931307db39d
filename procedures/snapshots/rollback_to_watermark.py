"""``CALL sys.rollback_to_watermark``: take a table back to a watermark."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure
from paimon_sql.procedures.snapshots.rollback import DETAILS, RESULTS, answer
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_watermark


class RollbackToWatermark(Procedure):
    """The first snapshot that reached the watermark becomes the newest."""

    name = "rollback_to_watermark"
    summary = "Take a table back to its first snapshot that reached a watermark."
    arguments = (TABLE, Argument("watermark", BigIntType(), "The watermark in milliseconds.", required=True), DRY_RUN)
    results = RESULTS
    details = DETAILS
    example = "CALL sys.rollback_to_watermark(table => 'db.t', watermark => 1735689600000)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        return [answer(rollback_to_watermark(table, arguments["watermark"], dry_run=dry_run), dry_run=dry_run)]

"""``CALL sys.create_tag_from_watermark``: tag the first snapshot that reached a watermark."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure
from paimon_sql.procedures.tags.create_tag import TAG, TIME_RETAINED
from paimon_sql.procedures.tags.create_tag_from_timestamp import DETAILS, FOUND, found_row
from paimon_sql.procedures.values import DRY_RUN, length_of
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.time_travel.resolve import first_from_watermark


class CreateTagFromWatermark(Procedure):
    """The snapshot is the first whose watermark is not less, be it retained or kept by another tag."""

    name = "create_tag_from_watermark"
    summary = "Keep under a name the first snapshot that reached a watermark."
    arguments = (
        TABLE,
        TAG,
        Argument("watermark", BigIntType(), "The watermark in milliseconds.", required=True),
        TIME_RETAINED,
        DRY_RUN,
    )
    results = FOUND
    details = DETAILS
    example = "CALL sys.create_tag_from_watermark(table => 'db.t', tag => 'monday', watermark => 1735516800000)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        retained = length_of(arguments["time_retained"], "time_retained")
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        snapshot = first_from_watermark(table, arguments["watermark"])
        tag = create_tag(table, arguments["tag"], snapshot.id, retained, dry_run=dry_run)
        return [found_row(arguments["tag"], tag, dry_run=dry_run)]

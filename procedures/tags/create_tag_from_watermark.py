"""``CALL sys.create_tag_from_watermark``: tag the first snapshot that reached a watermark."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, optional, required
from paimon_sql.procedures.tags.create_tag import THE_TAG
from paimon_sql.procedures.tags.create_tag_from_timestamp import CreateTagFromTimestamp, found_record
from paimon_sql.procedures.values import duration_of
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.table.time_travel.resolve import first_from_watermark


class CreateTagFromWatermark(Procedure):
    """Snapshots that are retained only by other tags are considered, too."""

    summary = "Create a tag of the first snapshot that reached a watermark."
    example = "CALL sys.create_tag_from_watermark(table => 'db.t', tag => 'monday', watermark => 1735516800000)"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        watermark: Long = required("The watermark in milliseconds.")
        time_retained: str | None = optional("How long to retain the tag, as '36 h' or '7 d'; forever by default.")

    Result = CreateTagFromTimestamp.Result

    def call(self, context: Context, arguments: Arguments) -> CreateTagFromTimestamp.Result:
        retained = duration_of(arguments.time_retained, "time_retained")
        table = context.table(arguments.table)
        snapshot = first_from_watermark(table, arguments.watermark)
        tag = create_tag(table, arguments.tag, snapshot.id, retained, dry_run=arguments.dry_run)
        return found_record(arguments.tag, tag)

"""``CALL sys.create_tag_from_watermark``: tag the first snapshot that reached a watermark."""

from __future__ import annotations

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.procedures.base import Long, OfTable, optional, required
from paimon_sql.procedures.tags.create_tag import THE_TAG, TIME_RETAINED
from paimon_sql.procedures.tags.create_tag_from_timestamp import CreateTagFromTimestamp
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import first_from_watermark


class CreateTagFromWatermark(CreateTagFromTimestamp):
    """Snapshots that are retained only by other tags are considered, too."""

    summary = "Create a tag of the first snapshot that reached a watermark."
    example = "CALL sys.create_tag_from_watermark(table => 'db.t', tag => 'monday', watermark => 1735516800000)"

    class Arguments(OfTable, kw_only=True):
        tag: str = required(THE_TAG)
        watermark: Long = required("The watermark in milliseconds.")
        time_retained: str | None = optional(TIME_RETAINED)

    def first(self, table: Table, arguments: OfTable) -> Snapshot:
        assert isinstance(arguments, CreateTagFromWatermark.Arguments)
        return first_from_watermark(table, arguments.watermark)

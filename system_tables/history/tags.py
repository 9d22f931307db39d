"""``t$tags``: the tags and their snapshots."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from paimon_sql.format.schema.records import Long, Record, Timestamp, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.formatting import wall_clock


class Tags(RecordTable[Table], SystemTable):
    """The tags, by name."""

    summary = "One row per tag."

    class Row(Record):
        tag_name: str = column("name")
        snapshot_id: Long = column("snapshot of the tag")
        schema_id: Long = column("schema of that snapshot")
        commit_time: Timestamp = column("commit time of that snapshot")
        record_count: Long | None = column("total record count of that snapshot")
        create_time: Timestamp | None = column("when the tag was created; only for tags with a retention")
        time_retained: str | None = column("retention as an ISO duration, e.g. PT36H")

    def records(self, table: Table) -> Iterable[Row]:
        for t in table.tags.all():
            yield self.Row(
                tag_name=t.name,
                snapshot_id=t.snapshot.id,
                schema_id=t.snapshot.schema_id,
                commit_time=wall_clock(t.snapshot.time_millis),
                record_count=t.snapshot.total_record_count,
                create_time=t.tag.create_time,
                time_retained=_iso(t.tag.time_retained),
            )


def _iso(length: timedelta | None) -> str | None:
    """Format a duration in ISO 8601, with hours, minutes and seconds: ``PT36H``, ``PT0.001S``."""
    if length is None:
        return None
    if not length:
        return "PT0S"
    sign, micros = ("-" if length < timedelta() else ""), abs(length) // timedelta(microseconds=1)
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest // 1_000_000}.{rest % 1_000_000:06d}".rstrip("0").rstrip(".")
    parts = ((str(hours), "H"), (str(minutes), "M"), (seconds, "S"))
    return "PT" + "".join(f"{sign}{number}{unit}" for number, unit in parts if number != "0")

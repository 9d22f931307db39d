"""``t$tags``: the tags and their snapshots."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, TimestampType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clock


class Tags(SystemTable):
    """The tags, by name."""

    name = "tags"
    summary = "One row per tag."
    columns = (
        column("tag_name", string_type(False), "name"),
        column("snapshot_id", BigIntType(False), "snapshot it keeps"),
        column("schema_id", BigIntType(False), "schema of that snapshot"),
        column("commit_time", TimestampType(False, 3), "commit time of that snapshot"),
        column("record_count", BigIntType(), "total record count of that snapshot"),
        column("create_time", TimestampType(True, 3), "when the tag was made; only of tags with a retention"),
        column("time_retained", string_type(), "retention as an ISO duration, e.g. PT36H"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        found = [
            {
                "tag_name": t.name,
                "snapshot_id": t.snapshot.id,
                "schema_id": t.snapshot.schema_id,
                "commit_time": wall_clock(t.snapshot.time_millis),
                "record_count": t.snapshot.total_record_count,
                "create_time": t.tag.create_time,
                "time_retained": _iso(t.tag.time_retained),
            }
            for t in table.tags.all()
        ]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


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

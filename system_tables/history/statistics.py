"""``t$statistics``: the statistics of ANALYZE TABLE."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Long, Record, column
from paimon_sql.storage.table.statistics import statistics_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import RecordTable, SystemTable


class Statistics(RecordTable[Table], SystemTable):
    """The statistics of the snapshot that is read; none before the first ANALYZE TABLE."""

    summary = "One row, after ANALYZE TABLE."

    class Row(Record):
        snapshot_id: Long = column("snapshot that was analyzed")
        schema_id: Long = column("its schema")
        mergedRecordCount: Long | None = column("rows after merging")  # noqa: N815
        mergedRecordSize: Long | None = column("their size in bytes")  # noqa: N815
        colstat: str | None = column(
            "JSON object by column name: colId, distinctCount, min, max, nullCount, avgLen, maxLen"
        )

    def records(self, table: Table) -> Iterable[object]:
        version = version_to_read(table)
        found = statistics_of(version.of(table), version.snapshot)
        if found is not None:
            yield self.row(
                found,
                mergedRecordCount=found.merged_record_count,
                mergedRecordSize=found.merged_record_size,
                colstat=found.columns_json(),
            )

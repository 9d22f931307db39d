"""``t$statistics``: the statistics of ANALYZE TABLE."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.statistics import statistics_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import SystemTable, column


class Statistics(SystemTable):
    """The statistics that the snapshot names which the read sees; none before the first ANALYZE TABLE."""

    name = "statistics"
    summary = "One row, once ANALYZE TABLE was run."
    columns = (
        column("snapshot_id", BigIntType(False), "snapshot that was analyzed"),
        column("schema_id", BigIntType(False), "its schema"),
        column("mergedRecordCount", BigIntType(), "rows after merging"),
        column("mergedRecordSize", BigIntType(), "their size in bytes"),
        column(
            "colstat",
            string_type(),
            "JSON object by column name: colId, distinctCount, min, max, nullCount, avgLen, maxLen",
        ),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        version = version_to_read(table)
        found = statistics_of(version.of(table), version.snapshot)
        rows = (
            []
            if found is None
            else [
                {
                    "snapshot_id": found.snapshot_id,
                    "schema_id": found.schema_id,
                    "mergedRecordCount": found.merged_record_count,
                    "mergedRecordSize": found.merged_record_size,
                    "colstat": found.columns_json(),
                }
            ]
        )
        return pa.Table.from_pylist(rows, schema=arrow_schema(self.columns))

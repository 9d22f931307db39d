"""``t$buckets``: the buckets with their current sizes."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.records import Int, Long, Record, Timestamp, column
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.formatting import partition_labels, wall_clocks


class Buckets(SystemTable):
    """The buckets with files in the latest snapshot, by partition and number; time travel does not apply."""

    summary = "One row per bucket with files."

    class Row(Record):
        partition: str | None = column("partition values, {} without partitions")
        bucket: Int = column("bucket number")
        record_count: Long = column("records in live files")
        file_size_in_bytes: Long = column("size of the live files")
        file_count: Long = column("number of live files")
        last_update_time: Timestamp | None = column("creation of its newest file")

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        grouped = summed(live_files(table, table.snapshots.latest()).entries, ["partition", "bucket"])
        columns = grouped | {"partition": partition_labels(table.schema, grouped["partition"])}
        return self.of_arrays(columns).sort_by([("partition", "ascending"), ("bucket", "ascending")])


def summed(entries: pa.Table, keys: list[str]) -> dict[str, pa.ChunkedArray]:
    """Aggregate live files by keys.

    Returns:
        The keys; ``record_count``, ``file_size_in_bytes``, ``file_count``, ``last_update_time`` and ``total_buckets``
        (of the file that was committed last).
    """
    aggregates = {
        "record_count": ("row_count", "sum"),
        "file_size_in_bytes": ("file_size", "sum"),
        "file_count": ("file_name", "count"),
        "last_update_time": ("creation_time_millis", "max"),
        "total_buckets": ("total_buckets", "last"),
    }
    grouped = entries.group_by(keys, use_threads=False).aggregate(list(aggregates.values()))
    columns = {key: grouped[key] for key in keys}
    columns |= {name: grouped["_".join(aggregate)] for name, aggregate in aggregates.items()}
    return columns | {"last_update_time": wall_clocks(columns["last_update_time"])}

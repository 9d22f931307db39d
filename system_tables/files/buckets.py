"""``t$buckets``: the buckets with their current sizes."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, IntType, TimestampType, string_type
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clocks
from paimon_sql.system_tables.formatting import one_chunk, partition_labels


class Buckets(SystemTable):
    """The buckets that hold a file now, by partition and number; time travel does not apply to them."""

    name = "buckets"
    summary = "One row per bucket that holds a file."
    columns = (
        column("partition", string_type(), "partition values, {} without partitions"),
        column("bucket", IntType(False), "bucket number"),
        column("record_count", BigIntType(False), "records in live files"),
        column("file_size_in_bytes", BigIntType(False), "their size"),
        column("file_count", BigIntType(False), "their number"),
        column("last_update_time", TimestampType(True, 3), "creation of the newest"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        grouped = summed(live_files(table, table.snapshots.latest()).entries, ["partition", "bucket"])
        labels = partition_labels(table.schema, grouped["partition"])
        columns = [
            labels,
            *(grouped[name] for name in ("bucket", "row_count_sum", "file_size_sum", "file_name_count")),
            wall_clocks(grouped["creation_time_millis_max"]),
        ]
        schema = arrow_schema(self.columns)
        arrays = [one_chunk(c).cast(f.type) for c, f in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema).sort_by(
            [("partition", "ascending"), ("bucket", "ascending")]
        )


def summed(entries: pa.Table, keys: list[str]) -> pa.Table:
    """Aggregate live files by keys.

    Returns:
        The keys; ``row_count_sum``, ``file_size_sum``, ``file_name_count``, ``creation_time_millis_max`` and
        ``total_buckets_last`` (of the file that was committed last).
    """
    selected = entries.select([*keys, "row_count", "file_size", "file_name", "creation_time_millis", "total_buckets"])
    return selected.group_by(keys, use_threads=False).aggregate(
        [
            ("row_count", "sum"),
            ("file_size", "sum"),
            ("file_name", "count"),
            ("creation_time_millis", "max"),
            ("total_buckets", "last"),
        ]
    )

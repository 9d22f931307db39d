"""``t$partitions``: the partitions with their current sizes."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, BooleanType, IntType, TimestampType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.branches.all import newest_entries
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clocks
from paimon_sql.system_tables.files.buckets import summed
from paimon_sql.system_tables.files.files import without_postponed
from paimon_sql.system_tables.formatting import one_chunk, partition_names


class Partitions(SystemTable):
    """The partitions that hold a file now, by name; a table without partitions is one of them, without a name.

    Those that are read from another branch count. Time travel does not apply to them. What only REST catalogs know is
    null, and no partition is ``done``.
    """

    name = "partitions"
    summary = "One row per partition that holds a file."
    columns = (
        column("partition", string_type(), "dt=x/h=1; empty text without partitions"),
        column("record_count", BigIntType(False), "records in live files, before merging"),
        column("file_size_in_bytes", BigIntType(False), "size of the live files"),
        column("file_count", BigIntType(False), "number of live files"),
        column("last_update_time", TimestampType(True, 3), "creation of its newest file"),
        column("created_at", TimestampType(True, 3), "from REST catalogs only"),
        column("created_by", string_type(), "from REST catalogs only"),
        column("updated_by", string_type(), "from REST catalogs only"),
        column("options", string_type(), "from REST catalogs only"),
        column("total_buckets", IntType(False), "bucket number of the files; -1 for unaware"),
        column("done", BooleanType(False), "marked done (REST catalogs)"),
        column("deleted_record_count", BigIntType(), "records that deletion vectors hide; 0 without any"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        entries = without_postponed(table, newest_entries(table))
        grouped = summed(entries, ["partition"])
        partitions, size = one_chunk(grouped["partition"]), len(grouped)
        hidden = deleted_records(table)
        columns = {
            "partition": partition_names(table.schema, partitions),
            "record_count": grouped["row_count_sum"],
            "file_size_in_bytes": grouped["file_size_sum"],
            "file_count": grouped["file_name_count"],
            "last_update_time": wall_clocks(grouped["creation_time_millis_max"]),
            "total_buckets": grouped["total_buckets_last"],
            "done": pa.array([False] * size, pa.bool_()),
            "deleted_record_count": pa.array([hidden.get(p, 0) for p in partitions.to_pylist()], pa.int64()),
        }
        schema = arrow_schema(self.columns)
        arrays = [one_chunk(columns.get(f.name, pa.nulls(size))).cast(f.type) for f in schema]
        return pa.Table.from_arrays(arrays, schema=schema).sort_by("partition")


def deleted_records(table: Table) -> dict[bytes, int | None]:
    """Number of rows that deletion vectors hide, by serialized partition; None if old files do not record it."""
    snapshot = table.snapshots.latest()
    if snapshot is None or not table.options.get(DELETION_VECTORS_ENABLED):
        return {}
    found: dict[bytes, int | None] = {}
    for entry in index_entries(table, snapshot):
        if entry.file.index_type != DELETION_VECTORS_INDEX:
            continue
        counts = [v.cardinality for v in entry.file.deletion_vectors or ()]
        before = found.get(entry.partition, 0)
        known = None if before is None or None in counts else before + sum(c or 0 for c in counts)
        found[entry.partition] = known
    return found

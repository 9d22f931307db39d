"""``t$partitions``: the partitions with their current sizes."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.schema.records import Int, Long, Record, Timestamp, column
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.layout import ScanLayout
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.files.buckets import summed
from paimon_sql.system_tables.files.files import without_postponed
from paimon_sql.system_tables.formatting import one_chunk, partition_names


class Partitions(SystemTable):
    """The partitions with files in the latest snapshot, by name; without partition keys, one without a name.

    Partitions that are read from another branch are included. Time travel does not apply. Columns that only REST
    catalogs provide are null, and no partition is ``done``.
    """

    summary = "One row per partition with files."

    class Row(Record):
        partition: str | None = column("dt=x/h=1; empty string without partitions")
        record_count: Long = column("records in live files, before merging")
        file_size_in_bytes: Long = column("size of the live files")
        file_count: Long = column("number of live files")
        last_update_time: Timestamp | None = column("creation of its newest file")
        created_at: Timestamp | None = column("from REST catalogs only")
        created_by: str | None = column("from REST catalogs only")
        updated_by: str | None = column("from REST catalogs only")
        options: str | None = column("from REST catalogs only")
        total_buckets: Int = column("bucket number of the files; -1 for unaware")
        done: bool = column("marked done (REST catalogs)")
        deleted_record_count: Long | None = column("records deleted by deletion vectors; 0 without any")

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        entries = without_postponed(table, ScanLayout.of(table).newest_entries(table))
        grouped = summed(entries, ["partition"])
        partitions = one_chunk(grouped["partition"])
        size = len(partitions)
        hidden = deleted_records(table)
        columns = {
            "partition": partition_names(table.schema, partitions),
            "done": pa.array([False] * size, pa.bool_()),
            "deleted_record_count": pa.array([hidden.get(p, 0) for p in partitions.to_pylist()], pa.int64()),
        }
        unknown = dict.fromkeys(("created_at", "created_by", "updated_by", "options"), pa.nulls(size))
        return self.of_arrays(grouped | columns | unknown).sort_by("partition")


def deleted_records(table: Table) -> dict[bytes, int | None]:
    """Number of rows that deletion vectors hide, by serialized partition; None if old files do not record it."""
    snapshot = table.snapshots.latest()
    if snapshot is None or not table.options.get(DELETION_VECTORS_ENABLED):
        return {}
    found: dict[bytes, int | None] = {}
    for entry in index_entries(table, snapshot):
        if entry.file.index_type != DELETION_VECTORS_INDEX:
            continue
        counts = [found.get(entry.partition, 0), *(v.cardinality for v in entry.file.deletion_vectors or ())]
        found[entry.partition] = None if None in counts else sum(c or 0 for c in counts)
    return found
